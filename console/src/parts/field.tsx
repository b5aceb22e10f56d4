import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Refused } from "../api";
import type { Complete, Option } from "../completion";

const PAUSE_MS = 120;

interface Properties {
  label: string;
  value: string;
  placeholder?: string;
  complete: Complete;
  onInput: (value: string) => void;
  /** Called with a complete value: an option was chosen. */
  onChoose?: (value: string) => void;
  isRequired?: boolean;
  hint?: ComponentChildren;
}

/** Represents a text field with completion: a combobox with a list of options (WAI-ARIA 1.2). */
export function CompletedField(properties: Properties) {
  const { label, value, placeholder, complete, onInput, onChoose, isRequired, hint } = properties;
  const id = useId();
  const [options, setOptions] = useState<Option[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const list = useRef<HTMLUListElement>(null);

  useEffect(() => {
    if (!isOpen) return undefined;
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      complete(value, aborter.signal).then(
        (found) => {
          if (aborter.signal.aborted) return;
          setOptions(found.filter((option) => option.value !== value));
          setActive(-1);
        },
        (fault: unknown) => {
          if (aborter.signal.aborted) return;
          setOptions([]); // completion is a help: the page says what is wrong with the service
          if (!(fault instanceof Refused)) throw fault;
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [value, isOpen, complete]);

  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);

  function choose(option: Option) {
    onInput(option.value);
    setOptions([]);
    if (option.isPrefix) return;
    setOpen(false);
    onChoose?.(option.value);
  }

  function press(event: KeyboardEvent) {
    const chosen = options[active];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (options.length > 0) setActive((active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length);
    } else if (event.key === "Enter" && isOpen && chosen) {
      event.preventDefault();
      choose(chosen);
    } else if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      event.preventDefault();
      setOpen(false);
    } else if (event.key === "Tab") {
      setOpen(false);
    }
  }

  const isShown = isOpen && options.length > 0;
  return (
    <div class="field completed">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-options`}
        aria-activedescendant={isShown && active >= 0 ? `${id}-${active}` : undefined}
        aria-describedby={hint ? `${id}-hint` : undefined}
        required={isRequired}
        placeholder={placeholder}
        value={value}
        onInput={(event) => {
          setOpen(true);
          onInput(event.currentTarget.value);
        }}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      <ul class="options" id={`${id}-options`} role="listbox" aria-label={label} ref={list} hidden={!isShown}>
        {options.map((option, place) => (
          <li
            key={option.value}
            id={`${id}-${place}`}
            role="option"
            aria-selected={place === active}
            onMouseDown={(event) => {
              event.preventDefault(); // the field keeps the focus
              choose(option);
            }}
          >
            <span class="name">{option.label ?? option.value}</span>
            {option.hint && <span class="hint">{option.hint}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
