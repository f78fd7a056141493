type Figures = { readonly [field: string]: unknown }

/** Most of what was spent is as it was at the lap before: the fields that are not. Undefined where the two have others. */
export function changedSince(before: Figures, figures: Figures): Figures | undefined {
  if (!haveSameFields(before, figures)) return undefined
  const changed = Object.entries(figures).filter(([field, value]) => !isSameJson(before[field], value))
  return Object.fromEntries(changed)
}

/** In the same order: what is put together from both has the fields where they were. A field that is undefined is absent in a line. */
function haveSameFields(before: Figures, figures: Figures): boolean {
  const [fields, others] = [fieldsOf(before), fieldsOf(figures)]
  return fields.length === others.length && others.every((field, index) => field === fields[index])
}

function fieldsOf(figures: Figures): readonly string[] {
  return Object.keys(figures).filter((field) => figures[field] !== undefined)
}

function isSameJson(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))
}
