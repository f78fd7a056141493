export type Figures = { readonly [field: string]: unknown }

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

export function isSameJson(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))
}

/** What changed since the lap before: of objects with the same fields those that did. `whole` names fields that are replaced and not merged. */
export interface FigureChanges {
  readonly delta: Figures
  readonly whole?: readonly string[]
}

const same = Symbol('same')
const other = Symbol('other')

/** The changes of one object of figures. Undefined where the two have other fields. */
export function changesSince(before: Figures, figures: Figures): FigureChanges | undefined {
  if (!canMerge(before, figures)) return undefined
  const delta: { [field: string]: unknown } = {}
  const whole: string[] = []
  for (const field of fieldsOf(figures)) {
    const difference = differenceOf(before[field], figures[field])
    if (difference === same) continue
    if (difference === other) whole.push(field)
    delta[field] = difference === other ? figures[field] : difference
  }
  return whole.length === 0 ? { delta } : { delta, whole }
}

function differenceOf(before: unknown, after: unknown): unknown {
  if (before === after) return same
  if (!isFigures(before) || !isFigures(after)) return isSameJson(before, after) ? same : after
  if (!canMerge(before, after)) return other
  let delta: { [field: string]: unknown } | undefined
  for (const field of fieldsOf(after)) {
    const difference = differenceOf(before[field], after[field])
    if (difference === other) return other
    if (difference !== same) (delta ??= {})[field] = difference
  }
  return delta ?? same
}

/** Who merges sets fields: one of this name would be no field. */
function canMerge(before: Figures, after: Figures): boolean {
  return haveSameFields(before, after) && !Object.hasOwn(after, '__proto__')
}

/**
 * What `changesSince` was made of. `inPlace` changes `before` itself.
 * @throws TypeError for a field that is not there.
 */
export function withChanges(before: Figures, { delta, whole }: FigureChanges, inPlace: boolean): Figures {
  const merged: { [field: string]: unknown } = inPlace ? before : { ...before }
  for (const field of Object.keys(delta)) {
    if (!Object.hasOwn(before, field) || field === '__proto__')
      throw new TypeError('it tells what changed of a figure that is missing')
    const [old, now] = [before[field], delta[field]]
    const isMerged = isFigures(old) && isFigures(now) && whole?.includes(field) !== true
    merged[field] = isMerged ? withChanges(old, { delta: now }, inPlace) : now
  }
  return merged
}

function isFigures(value: unknown): value is Figures {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
