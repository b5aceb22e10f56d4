import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { changeTheme, theme } from "../theme";
import { Icon } from "../parts/icons";
import * as words from "../words";
import { type ApiDocument, type Group, type Operation, listGroups } from "./document";
import { KeyField } from "./key_field";
import { OperationPage } from "./operation_page";

/** Returns the operation that the fragment of the URL names, as it changes. */
function useFragment(): string {
  const [fragment, setFragment] = useState(decodeURIComponent(location.hash.slice(1)));
  useEffect(() => {
    const change = () => setFragment(decodeURIComponent(location.hash.slice(1)));
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return fragment;
}

export function Reference({ document: api }: { document: ApiDocument }) {
  const groups = useMemo(() => listGroups(api), [api]);
  const fragment = useFragment();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const operation = groups.flatMap((group) => group.operations).find((each) => each.operationId === fragment);
  useEffect(() => {
    document.title = `${operation?.summary ?? words.reference.shortTitle} · Magistrate`;
    if (!isFirst.current) {
      scrollTo(0, 0);
      main.current?.focus();
    }
    isFirst.current = false;
  }, [operation]);
  const colours = { system: words.shell.system, light: words.shell.light, dark: words.shell.dark }[theme.value];
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => {
        event.preventDefault(); // the fragment is the operation
        main.current?.focus();
      }}>
        {words.shell.skip}
      </a>
      <header>
        <a class="brand" href="#">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="8" />
            <path d="M8 23V10l8 7 8-7v13" />
          </svg>
          <span>{words.reference.title}</span>
        </a>
        <div class="tools">
          <a class="tool" href="console">{words.reference.console}</a>
          <button type="button" class="tool" onClick={changeTheme} title={words.shell.changeColours} aria-label={words.shell.colours(colours)}>
            <Icon name="theme" />
          </button>
        </div>
      </header>
      <div class="reference">
        <Contents groups={groups} current={operation} />
        <main id="content" ref={main} tabIndex={-1}>
          {operation ? (
            <OperationPage key={operation.operationId} api={api} operation={operation} />
          ) : (
            <Overview api={api} groups={groups} isUnknown={fragment !== ""} />
          )}
        </main>
      </div>
    </>
  );
}

function Contents({ groups, current }: { groups: Group[]; current?: Operation }) {
  const [sought, setSought] = useState("");
  const searched = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = groups.map((group) => ({
    ...group,
    operations: group.operations.filter((operation) => searched.every((word) => operation.words.includes(word))),
  }));
  const count = found.reduce((sum, group) => sum + group.operations.length, 0);
  return (
    <nav class="contents" aria-label={words.reference.requests}>
      <div class="field">
        <label for="search">{words.reference.search}</label>
        <input id="search" type="search" value={sought} onInput={(event) => setSought(event.currentTarget.value)} />
      </div>
      <p class="hint" role="status">{searched.length ? words.reference.results(count) : words.reference.all(count)}</p>
      {found.map(
        (group) =>
          group.operations.length > 0 && (
            <details key={group.name} open={searched.length > 0 || group.name === (current?.group ?? groups[0]?.name)}>
              <summary>
                {group.name} <span class="hint">{group.operations.length}</span>
              </summary>
              <ul>
                {group.operations.map((operation) => (
                  <li key={operation.operationId}>
                    <a href={`#${operation.operationId}`} aria-current={operation === current ? "page" : undefined}>
                      <Method name={operation.method} /> <span class="name">{operation.path}</span>
                    </a>
                  </li>
                ))}
              </ul>
            </details>
          ),
      )}
    </nav>
  );
}

export function Method({ name }: { name: string }) {
  return <span class={`method ${name.toLowerCase()}`}>{name}</span>;
}

function Overview({ api, groups, isUnknown }: { api: ApiDocument; groups: Group[]; isUnknown: boolean }) {
  return (
    <div>
      <h1>
        {api.info.title} {api.info.version}
      </h1>
      {isUnknown && <p class="notice">{words.reference.noRequest}</p>}
      <p class="lead">{api.info.description}</p>
      <p>
        {words.reference.purpose}
      </p>
      <KeyField />
      <ul class="groups">
        {groups.map((group) => (
          <li key={group.name} class="card">
            <h2>{group.name}</h2>
            <p>{group.description}</p>
            <p>
              <a href={`#${group.operations[0]?.operationId ?? ""}`}>{words.reference.all(group.operations.length)}</a>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
