import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import * as words from "../words";

interface Properties {
  /** How many filters are set. */
  count: number;
  onSubmit?: () => void;
  /** The fields. */
  children: ComponentChildren;
}

/** Represents the filters of a list; on narrow screens they are folded, so that the list is seen. */
export function Filters({ count, onSubmit, children }: Properties) {
  const [isOpen, setOpen] = useState(false);
  return (
    <form
      class={isOpen ? "filters" : "filters folded"}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit?.();
      }}
    >
      <button type="button" class="quiet unfold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? words.data.hideFilters : count > 0 ? words.data.filters(count) : words.data.filtersAlone}
      </button>
      {children}
    </form>
  );
}
