"""An offline encyclopaedia for open-QA browsing, built from packages and served by Kiwix (BrowserAgent, section 2.3).

`facts` reads the packages, `articles` renders pages, `zim` writes the file, `questions` makes tasks from these facts,
`teacher` is the scripted teacher, and `kiwix` and `site` serve the pages.
"""

from components.worlds.encyclopaedia.world import Encyclopaedia

KIND = Encyclopaedia

__all__ = ["KIND", "Encyclopaedia"]
