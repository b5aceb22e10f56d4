import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { findObstacle, read } from "../api";
import { completeStore, type Store } from "../completion";
import { useLoaded } from "../loading";
import { go, route, store } from "../route";
import * as words from "../words";
import { CompletedField } from "./field";
import { Icon } from "./icons";

const DEFAULT = "default";

const isOpen = signal(false);

/** Shows which store the pages are about, and opens the choice of another, to those whose key may use all stores. */
export function StoreButton() {
  const mayUseAll = !findObstacle({ scope: "stores" });
  const loaded = useLoaded(mayUseAll && store !== undefined ? readStore : undefined, [mayUseAll]);
  if (!mayUseAll) return null;
  return (
    <button
      type="button"
      class="tool store"
      aria-expanded={isOpen.value}
      title={words.stores.chooseOther}
      onClick={() => (isOpen.value = !isOpen.value)}
    >
      <Icon name="store" />
      <span class="sr">{words.stores.prefix} </span>
      <span class="store-name">{loaded.value?.name ?? store ?? DEFAULT}</span>
    </button>
  );
}

/** Moves every page to another store. */
export function StoreBar() {
  if (!isOpen.value || findObstacle({ scope: "stores" })) return null;
  return <OpenBar />;
}

function OpenBar() {
  const [name, setName] = useState("");
  const present = useLoaded(readStore, []).value;
  return (
    <section class="time-bar" aria-label={words.stores.title}>
      <p class="hint" role="status">
        {present && words.stores.holds(present.name, count(present, "objects"), count(present, "warrants"))}
      </p>
      <form
        class="time-tools"
        onSubmit={(event) => {
          event.preventDefault();
          openStore(name);
        }}
      >
        <CompletedField
          label={words.stores.title}
          value={name}
          placeholder={words.stores.nameOf}
          complete={completeStore}
          onInput={setName}
          onChoose={openStore}
          isRequired
        />
        <button type="submit" class="quiet">
          {words.stores.open}
        </button>
        <button type="button" class="quiet" onClick={() => (isOpen.value = false)}>
          {words.actions.close}
        </button>
      </form>
    </section>
  );
}

function count({ usage, limits }: Store, what: "objects" | "warrants"): string {
  return words.stores.usage(usage[what], what, limits[what]);
}

function readStore(aborted: AbortSignal): Promise<Store> {
  return read<Store>(`v2/stores/${encodeURIComponent(store ?? DEFAULT)}`, { signal: aborted });
}

/** Opens the same page of another store. Tokens and cursors mean nothing there. */
function openStore(name: string) {
  const { page, parameters } = route.value;
  isOpen.value = false;
  go(page, { ...parameters, at: undefined, next: undefined, prev: undefined, store: name === DEFAULT ? undefined : name });
}
