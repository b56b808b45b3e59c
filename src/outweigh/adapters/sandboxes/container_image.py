"""What a container is made from: a stored image, a folder used as its root, or a Dockerfile built on first use."""

from pathlib import Path
from threading import Lock

from outweigh.adapters.sandboxes.container_engine import Engine
from outweigh.errors import UsageError

BUILD_SECONDS = 1800.0
_ROOT_FOLDER = "rootfs:"
_DOCKERFILE = "dockerfile:"


class Images:
    """Turns the image a suite names into arguments of `run`; a Dockerfile is built once, however many ask for it."""

    def __init__(self) -> None:
        self._built: dict[Path, str] = {}
        self._building = Lock()

    def arguments(self, engine: Engine, image: str | None) -> tuple[str, ...]:
        """The end of the option list: what the container starts from."""
        if not image:
            raise UsageError(
                "the container sandbox needs an image: give [sandbox] image = the name of a stored one, "
                '"rootfs:/folder" or "dockerfile:/folder".'
            )
        if image.startswith(_ROOT_FOLDER):
            return _root_folder(engine, Path(image.removeprefix(_ROOT_FOLDER)))
        if image.startswith(_DOCKERFILE):
            return (self._build(engine, Path(image.removeprefix(_DOCKERFILE))),)
        return (image,)

    def _build(self, engine: Engine, folder: Path) -> str:
        if not folder.is_dir():
            raise UsageError(f"{folder}, named as the folder of a Dockerfile, is not a folder.")
        with self._building:
            if folder not in self._built:
                self._built[folder] = _built(engine, folder)
            return self._built[folder]


def explain_absence(engine: Engine, image: str) -> str | None:
    """What to do when an image is not stored here; None when it is. Nothing is fetched in the middle of a run."""
    if image.startswith((_ROOT_FOLDER, _DOCKERFILE)) or engine.ask("image", "inspect", image).code == 0:
        return None
    return f"image {image!r} is not stored here; fetch it before the first run: {engine.name} pull {image}"


def _root_folder(engine: Engine, folder: Path) -> tuple[str, ...]:
    if engine.name != "podman":
        raise UsageError(
            f"only podman starts from a folder, and {engine.name} is what works here: import it as an image."
        )
    if not folder.is_absolute() or not folder.is_dir():
        raise UsageError(f"{folder}, named as the root of a container, is not the full path of a folder.")
    return ("--rootfs", f"{folder}:O")  # O: an overlay, so that the folder itself is never changed


def _built(engine: Engine, folder: Path) -> str:
    answer = engine.ask("build", "--quiet", str(folder), seconds=BUILD_SECONDS)
    if answer.code != 0:
        raise UsageError(f"{folder} cannot be built: {answer.complaint}. Try it by hand: {engine.name} build {folder}")
    return answer.out.splitlines()[-1]
