"""What requests and answers hold."""

from typing import Annotated

from pydantic import BaseModel, Field

from sharing.items import NAME

Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Title = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=100_000)]


class Credentials(BaseModel):
    user: Name


class Token(BaseModel):
    token: str


class NewGroup(BaseModel):
    title: Title


class NewFolder(BaseModel):
    """Within a folder, or topmost."""

    title: Title
    folder: Name | None = None


class NewDocument(NewFolder):
    text: Text = ""


class Edited(BaseModel):
    title: Title
    text: Text = ""


class RelationResult(BaseModel):
    id: str
    title: str


class Document(RelationResult):
    text: str


class Readers(BaseModel):
    users: list[str]
    everyone: bool
