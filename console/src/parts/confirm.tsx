import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api";
import * as words from "../words";
import { Fault } from "./notice";

interface Properties {
  title: string;
  action: string;
  isDangerous?: boolean;
  /** Whether it can be confirmed; false while it is not known what it would do. */
  isReady?: boolean;
  children: ComponentChildren;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}

/** A title of more characters has smaller ones: it is about a long id. */
const MOST_OF_TITLE = 120;

/** Keeps a dialog from being confirmed until the function that it returns is called. */
type Hold = () => () => void;
const Held = createContext<Hold>(() => () => undefined);

/** Keeps the dialog around a component, if there is one, from being confirmed while what it would do is being loaded:
 * nobody has read it yet, and the button moves when it is shown. */
export function useHold(isLoading: boolean) {
  const hold = useContext(Held);
  useLayoutEffect(() => (isLoading ? hold() : undefined), [isLoading]);
}

/** Represents a dialog that says exactly what will be written, and writes it. */
export function Confirm({ title, action, isDangerous, isReady = true, children, onConfirm, onClose }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [fault, setFault] = useState<Refused>();
  const [isBusy, setBusy] = useState(false);
  const [holds, setHolds] = useState(0);
  const hold = useRef<Hold>(() => {
    setHolds((count) => count + 1);
    return () => setHolds((count) => count - 1);
  });

  useEffect(() => {
    dialog.current?.showModal();
  }, []);

  async function confirm(event: Event) {
    event.preventDefault();
    setBusy(true);
    setFault(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
      setBusy(false);
    }
  }

  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <form onSubmit={confirm} onInput={() => setFault(undefined)}>
        <h2 id={id} class={title.length > MOST_OF_TITLE ? "long" : undefined}>
          {title}
        </h2>
        <Held.Provider value={hold.current}>{children}</Held.Provider>
        {fault && <Fault fault={fault} />}
        <div class="actions">
          <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
            {words.actions.cancel}
          </button>
          <button type="submit" class={isDangerous ? "dangerous" : "primary"} disabled={isBusy || !isReady || holds > 0}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
