import { type ApiDocument, type Schema, describeType, listAlternatives, listBounds, nameOf, resolve } from "./document";
import { Prose } from "./prose";
import * as words from "../words";

interface Props {
  api: ApiDocument;
  schema: Schema;
  /** The names of the schemas around this one: a schema that contains itself is shown once. */
  around?: string[];
}

const DEEPEST = 12;

/** Shows the members of a schema in place, with those of the schemas that they refer to. */
export function SchemaView({ api, schema, around = [] }: Props) {
  const name = nameOf(schema);
  if ((name !== undefined && around.includes(name)) || around.length > DEEPEST) {
    return <p class="hint">{words.reference.sameMembers}</p>;
  }
  const within = name === undefined ? around : [...around, name];
  const resolved = resolve(api, schema);
  const alternatives = listAlternatives(api, resolved);
  if (alternatives.length > 1) {
    return (
      <ul class="alternatives">
        {alternatives.map((option, index) => (
          <li key={index}>
            <span class="hint">{words.reference.alternative(describeType(api, option), index === 0)}</span>
            <SchemaView api={api} schema={option} around={within} />
          </li>
        ))}
      </ul>
    );
  }
  const [only = resolved] = alternatives;
  if (only !== resolved) return <SchemaView api={api} schema={only} around={within} />;
  if (typeof resolved.items === "object") return <SchemaView api={api} schema={resolved.items} around={within} />;
  const members = Object.entries(resolved.properties ?? {});
  const others = resolved.additionalProperties;
  if (members.length === 0 && typeof others === "object") {
    return (
      <dl class="members">
        <dt><i>{words.reference.anyName}</i></dt>
        <dd>
          {describeType(api, others)}
          <Inner api={api} schema={others} around={within} />
        </dd>
      </dl>
    );
  }
  if (members.length === 0) return null;
  return (
    <dl class="members">
      {members.map(([member, inner]) => (
        <Member key={member} api={api} name={member} schema={inner} isRequired={resolved.required?.includes(member) ?? false} around={within} />
      ))}
    </dl>
  );
}

function Member({ api, name, schema, isRequired, around = [] }: Props & { name: string; isRequired: boolean }) {
  const resolved = resolve(api, schema);
  const description = schema.description ?? resolved.description;
  return (
    <>
      <dt>
        <code>{name}</code> {isRequired && <span class="bound">{words.reference.required}</span>}
      </dt>
      <dd>
        <span>{describeType(api, schema)}</span>
        {listBounds(resolved).map((text) => (
          <span key={text} class="bound">{text}</span>
        ))}
        {description && <p class="hint"><Prose text={description} /></p>}
        <Inner api={api} schema={schema} around={around} />
      </dd>
    </>
  );
}

/** Shows the members of a member, if it has any, when they are opened, or near the top. */
function Inner({ api, schema, around = [] }: Props) {
  if (!hasMembers(api, schema, around)) return null;
  return (
    <details open={around.length < 2}>
      <summary>{words.reference.membersOf}</summary>
      <SchemaView api={api} schema={schema} around={around} />
    </details>
  );
}

function hasMembers(api: ApiDocument, schema: Schema, around: string[]): boolean {
  const name = nameOf(schema);
  if ((name !== undefined && around.includes(name)) || around.length > DEEPEST) return false;
  const within = name === undefined ? [...around, ""] : [...around, name];
  return listAlternatives(api, resolve(api, schema)).some((option) => {
    const resolved = resolve(api, option);
    if (resolved.properties || typeof resolved.additionalProperties === "object") return true;
    if (resolved.anyOf) return hasMembers(api, resolved, within);
    return typeof resolved.items === "object" && hasMembers(api, resolved.items, within);
  });
}
