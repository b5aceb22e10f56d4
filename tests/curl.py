"""As much of curl as the READMEs use, for machines without it: curl -s [-X METHOD] [-H HEADER]...
[-d BODY | -d @FILE | --json BODY | -G --data-urlencode NAME=VALUE] URL."""

import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path


def main(arguments: list[str]) -> None:
    headers, method, body, url = {}, None, None, ""
    query: list[tuple[str, str]] = []
    words = iter(arguments)
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-X":
            method = next(words)
        elif word in {"-d", "--json"}:
            given = next(words)
            body = Path(given[1:]).read_bytes() if given.startswith("@") else given.encode()
            headers |= {"Content-Type": "application/json"} if word == "--json" else {}
        elif word == "--data-urlencode":
            query.append(next(words).partition("=")[::2])
        elif word not in ("-s", "-G"):
            url = word
    url += f"?{urllib.parse.urlencode(query)}" if query else ""
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            sys.stdout.buffer.write(answer.read())
    except urllib.error.HTTPError as refused:
        sys.stdout.buffer.write(refused.read())
    except urllib.error.URLError:
        sys.exit(7)  # what curl exits with if nothing listens


if __name__ == "__main__":
    main(sys.argv[1:])
