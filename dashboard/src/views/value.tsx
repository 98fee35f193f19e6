// A value of a finding or of a refused claim, with the names of providers.

import { uuidOf } from "../findings";
import { Breakable, Name, TreeLink } from "../parts";
import { useShared } from "../state";

// UUIDs of providers are links with their names, wherever they are.
export function Value({ value }: { value: unknown }) {
  const { cloud } = useShared().live;
  if (Array.isArray(value)) {
    return <>{value.flatMap((item, index) => [index > 0 && ", ", <Value value={item} />])}</>;
  }
  const uuid = uuidOf(value);
  if (uuid !== null && cloud.providers.has(uuid)) {
    return <TreeLink uuid={uuid} name={cloud.nameOf(uuid)} />;
  }
  if (typeof value === "string") return <Name text={value} />;
  if (typeof value === "number") return <>{value.toLocaleString("en")}</>;
  if (typeof value !== "object" || value === null) return <>{String(value ?? "–")}</>;
  return <Facts rows={value} />;
}

// Names with their values; a name can be the UUID of a provider.
export function Facts({ rows }: { rows: object }) {
  const { cloud } = useShared().live;
  const facts = Object.entries(rows).filter(([, value]) => value !== "");
  return (
    <span class="facts">
      {facts.map(([name, value]) => (
        <span key={name} class="fact">
          {cloud.providers.has(name) ? (
            <TreeLink uuid={name} name={cloud.nameOf(name)} />
          ) : (
            <span class="label">
              <Breakable text={name.replaceAll("_", " ")} />
            </span>
          )}{" "}
          <Value value={value} />
        </span>
      ))}
    </span>
  );
}
