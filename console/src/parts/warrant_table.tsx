import { useState } from "preact/hooks";
import { writeObject, writeWarrant, type Warrant } from "../names";
import { showRelation, showText, showWarrant } from "../openfga_names";
import { link } from "../route";
import * as words from "../words";
import { ObjectLink, SubjectLink } from "./names";
import type { ReadLines } from "./export_table";
import { ChangeButton } from "./permission";
import { Table } from "./table";
import { Time } from "./time";
import { DeleteWarrant } from "./warrant_form";

interface Properties {
  warrants: Warrant[];
  onDone: (message: string) => void;
  readLines?: ReadLines;
}

export function WarrantTable({ warrants, onDone, readLines }: Properties) {
  const [deleted, setDeleted] = useState<Warrant>();
  return (
    <>
      <Table
        label={words.pages.warrants}
        headings={[words.terms.subject, words.terms.relation, words.terms.object, words.terms.condition, words.terms.created]}
        hasActions
        readLines={readLines}
      >
        {warrants.map((warrant) => (
          <tr key={writeWarrant(warrant) + (warrant.policy ?? "")}>
            <td>
              <SubjectLink subject={warrant.subject} />
            </td>
            <td>
              <b>{showRelation(warrant.relation)}</b>
            </td>
            <td>
              <ObjectLink object={warrant} />
            </td>
            <td>
              <Conditions warrant={warrant} />
            </td>
            <td class="time">{warrant.createdAt && <Time time={warrant.createdAt} />}</td>
            <td class="row-actions">
              {!warrant.subject.relation && warrant.subject.objectId !== "*" && warrant.objectId !== "*" && (
                <a
                  href={link("why", {
                    subject: writeObject(warrant.subject),
                    relation: warrant.relation,
                    object: writeObject(warrant),
                  })}
                >
                  {words.tables.why(showWarrant(warrant))}
                </a>
              )}
              <ChangeButton needs={{ scope: "write" }} class="quiet" onClick={() => setDeleted(warrant)}>
                {words.tables.delete(showWarrant(warrant))}
              </ChangeButton>
            </td>
          </tr>
        ))}
      </Table>
      {deleted && <DeleteWarrant warrant={deleted} onDone={onDone} onClose={() => setDeleted(undefined)} />}
    </>
  );
}

function Conditions({ warrant }: { warrant: Warrant }) {
  return (
    <>
      {warrant.policy && <code>{showText(warrant.policy)}</code>}
      {warrant.startsAt && (
        <span class="hint">
          {words.tables.from(<Time time={warrant.startsAt} />)}
        </span>
      )}
      {warrant.expiresAt && (
        <span class="hint">
          {words.tables.until(<Time time={warrant.expiresAt} />)}
        </span>
      )}
    </>
  );
}
