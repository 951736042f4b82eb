"""The section `placement`: stores that all machines reach, and patterns that match stages."""

from __future__ import annotations

import pytest

from components.params import RecipeError, parse
from tests.samples import raw_recipe


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (
            {"placement": {"store": "/shared", "pools": {"train_*": "gpu"}}},
            r"tracking\.tracking_uri = sqlite:///mlflow/store/mlflow\.db is a file of each clone.*four slashes",
        ),
        (
            {
                "placement": {
                    "store": "/shared",
                    "pools": {"evaluate": "cpu", "trian_sft": "gpu", "train_*": "gpu"},
                },
                "tracking__tracking_uri": "http://server:5000",
            },
            r"placement\.pools: 'evaluate' matches no stage: write 'evaluate@\*', which is all of its parts; "
            r"'trian_sft' matches no stage: write 'train_sft'",
        ),
        (
            {  # the wrong way round
                "placement": {"store": "s3://bucket/x", "pools": {"gpu": "train_*"}},
                "tracking__tracking_uri": "http://server:5000",
            },
            r"'gpu' matches no stage: there are collect_tasks, .*, report",
        ),
        (
            {"placement": {"store": "s4://bucket/x"}},
            r"placement.*store = s4://bucket/x: there is no store s4://: write s3://BUCKET/FOLDER or an absolute path",
        ),
        ({"placement": {"store": "https://host/x"}}, r"there is no store https://"),
        ({"placement": {"store": "s3:///x"}}, r"s3:///x names no bucket or host: write s3://BUCKET/FOLDER"),
        ({"placement": {"store": "file:///shared/x"}}, r"write the folder alone, /shared/x"),
    ],
)
def test_a_placement_that_no_machine_could_follow_is_refused(change: dict, error: str) -> None:
    with pytest.raises(RecipeError, match=error):
        parse(raw_recipe(**change))
