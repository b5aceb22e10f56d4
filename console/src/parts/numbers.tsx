import { useState } from "preact/hooks";
import { findObstacle, onlyTypes } from "../api";
import { useLoaded } from "../loading";
import { countTypes, readUsage, showCount, type TypeCounts } from "../numbers";
import { asOf, link, store } from "../route";
import { listTypes } from "../schema";
import * as words from "../words";
import { Busy, Fault } from "./notice";
import { Table } from "./table";

const DEFAULT_STORE = "default"; // an operator's key belongs to it

/** Shows how many objects and warrants there are of each type. They are counted when it is opened, never before. */
export function Numbers({ turn }: { turn: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="card" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.numbers.title}</summary>
      {isOpen && <Counted turn={turn} />}
    </details>
  );
}

function Counted({ turn }: { turn: string }) {
  const types = onlyTypes.value ?? listTypes();
  const [counts, setCounts] = useState<TypeCounts[]>([]);
  const loaded = useLoaded(
    async (signal) => {
      await countTypes(types, asOf.value, signal, setCounts);
      return true;
    },
    [types.join(), asOf.value, turn],
  );
  return (
    <div class="numbers">
      {asOf.value === undefined && !findObstacle({ scope: "stores" }) && <InAll turn={turn} />}
      {loaded.fault && <Fault fault={loaded.fault} retry={loaded.reload} />}
      {counts.length > 0 && (
        <Table label={words.numbers.title} headings={[words.terms.type, words.pages.objects, words.numbers.warrants]}>
          {counts.map(({ type, objects, warrants }) => (
            <tr key={type}>
              <td class="name">{type}</td>
              <td data-text={showCount(objects)}>
                <a href={link("data", { type })}>
                  {showCount(objects)}
                  <span class="sr"> {words.numbers.objectsOf(type)}</span>
                </a>
              </td>
              <td data-text={showCount(warrants)}>
                <a href={link("data", { show: "warrants", object: `${type}:` })}>
                  {showCount(warrants)}
                  <span class="sr"> {words.numbers.warrantsOf(type)}</span>
                </a>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {loaded.isLoading && <Busy what={words.numbers.counting(counts.length, types.length)} />}
    </div>
  );
}

/** Shows what the store holds in all, as it counts itself with each write. */
function InAll({ turn }: { turn: string }) {
  const loaded = useLoaded((signal) => readUsage(store ?? DEFAULT_STORE, signal), [turn]);
  if (!loaded.value) return null;
  const { objects, warrants } = loaded.value;
  return (
    <p>
      {words.numbers.inAll(objects, warrants)}
    </p>
  );
}
