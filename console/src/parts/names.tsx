import { writeObject, writeSubject, type ObjectName, type Subject, type WarrantKey } from "../names";
import { link } from "../route";

/** Shows an object as a link to its page. */
export function ObjectLink({ object }: { object: ObjectName }) {
  const name = writeObject(object);
  if (object.objectId === "*") return <span class="name">{name}</span>;
  return (
    <a class="name" href={link("object", { name })}>
      {name}
    </a>
  );
}

export function SubjectLink({ subject }: { subject: Subject }) {
  if (!subject.relation) return <ObjectLink object={subject} />;
  if (subject.objectId === "*") return <span class="name">{writeSubject(subject)}</span>;
  return (
    <a class="name" href={link("object", { name: writeObject(subject) })}>
      {writeSubject(subject)}
    </a>
  );
}

/** Shows a warrant in words: who is what of which object, and under which condition. */
export function WarrantWords({ warrant }: { warrant: WarrantKey }) {
  return (
    <span class="words">
      <SubjectLink subject={warrant.subject} /> is <b>{warrant.relation}</b> of <ObjectLink object={warrant} />
      {warrant.policy && (
        <>
          {" "}
          if <code>{warrant.policy}</code>
        </>
      )}
    </span>
  );
}
