import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api";
import { findCommands, type Command } from "../commands";
import { listSavedQueries, type SavedQuery } from "../saved_queries";
import { opened, SHORTCUTS } from "../shortcuts";
import * as words from "../words";

const PAUSE_MS = 100;

/** Shows the command palette or the list of shortcuts, whichever is open. */
export function Palette() {
  return opened.value === "shortcuts" ? <Shortcuts /> : <Commands />;
}

function useDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return dialog;
}

function close() {
  opened.value = undefined;
}

/** Represents a dialog with a field and the list of what it finds (a combobox of WAI-ARIA 1.2). */
function Commands() {
  const dialog = useDialog();
  const [text, setText] = useState("");
  const [found, setFound] = useState<Command[]>([]);
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const saved = useRef<Promise<SavedQuery[]> | undefined>(undefined);

  /** Reads the saved queries once for each time that the palette is opened. It is of use without them, too. */
  function readSaved(): Promise<SavedQuery[]> {
    saved.current ??= listSavedQueries().catch((fault: unknown) => {
      if (!(fault instanceof Refused)) throw fault;
      return [];
    });
    return saved.current;
  }

  useEffect(() => {
    const aborter = new AbortController();
    const timer = setTimeout(
      () => {
        findCommands(text, readSaved, aborter.signal).then(
          (commands) => {
            if (aborter.signal.aborted) return;
            setFound(commands);
            setActive(0);
          },
          (fault: unknown) => {
            if (aborter.signal.aborted) return;
            setFound([]);
            if (!(fault instanceof Refused)) throw fault;
          },
        );
      },
      text ? PAUSE_MS : 0,
    );
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [text]);

  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);

  function run(command: Command | undefined) {
    if (!command) return;
    dialog.current?.close();
    command.run();
  }

  function press(event: KeyboardEvent) {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setActive((active + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[active]);
    }
  }

  return (
    <dialog ref={dialog} class="palette" aria-label={words.shell.goTo} onClose={close}>
      <input
        type="text"
        class="code"
        role="combobox"
        aria-label={words.shell.goTo}
        aria-expanded={found.length > 0}
        aria-controls="commands"
        aria-activedescendant={found.length > 0 ? `command-${active}` : undefined}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder={words.palette.placeholder}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
      />
      <ul class="options" id="commands" role="listbox" aria-label={words.palette.matches} ref={list}>
        {found.map((command, place) => (
          <li
            key={command.name + command.hint}
            id={`command-${place}`}
            role="option"
            aria-selected={place === active}
            onClick={() => run(command)}
          >
            <span class="name">{command.name}</span>
            <span class="hint">{command.hint}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="hint">{words.palette.nothing}</p>}
    </dialog>
  );
}

function Shortcuts() {
  const dialog = useDialog();
  return (
    <dialog ref={dialog} class="palette" aria-labelledby="shortcuts-title" onClose={close}>
      <h2 id="shortcuts-title">{words.palette.shortcuts}</h2>
      <dl class="shortcuts">
        {SHORTCUTS.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          {words.actions.close}
        </button>
      </div>
    </dialog>
  );
}
