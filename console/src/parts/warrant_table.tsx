import { useState } from "preact/hooks";
import { writeObject, writeWarrant, type Warrant } from "../names";
import { showRelation, showText, showWarrant } from "../openfga_names";
import { link } from "../route";
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
        label="Warrants"
        headings={["Subject", "Relation", "Object", "Condition", "Created"]}
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
                  Why<span class="sr"> {showWarrant(warrant)}</span>
                </a>
              )}
              <ChangeButton needs={{ scope: "write" }} class="quiet" onClick={() => setDeleted(warrant)}>
                Delete…<span class="sr"> {showWarrant(warrant)}</span>
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
          from <Time time={warrant.startsAt} />{" "}
        </span>
      )}
      {warrant.expiresAt && (
        <span class="hint">
          until <Time time={warrant.expiresAt} />
        </span>
      )}
    </>
  );
}
