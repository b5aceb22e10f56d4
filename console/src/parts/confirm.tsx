import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Refused } from "../api";
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

/** Represents a dialog that says exactly what will be written, and writes it. */
export function Confirm({ title, action, isDangerous, isReady = true, children, onConfirm, onClose }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [fault, setFault] = useState<Refused>();
  const [isBusy, setBusy] = useState(false);

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
        <h2 id={id}>{title}</h2>
        {children}
        {fault && <Fault fault={fault} />}
        <div class="actions">
          <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? "dangerous" : "primary"} disabled={isBusy || !isReady}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
