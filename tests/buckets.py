"""A real S3 interface (moto) on loopback."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator


@contextlib.contextmanager
def bucket() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of an empty folder in a bucket, and the environment with which a process can reach it."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    _, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    environment = {**keys, "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    client = boto3.client(
        "s3", region_name="us-east-1", endpoint_url=environment["AWS_ENDPOINT_URL"],
        aws_access_key_id="key", aws_secret_access_key="secret",
    )  # fmt: skip
    client.create_bucket(Bucket="waymark")
    try:
        # buckets of earlier servers of this process are still there
        yield f"s3://waymark/{uuid.uuid4().hex}", environment
    finally:
        server.stop()
