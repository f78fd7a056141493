export type Figures = { readonly [field: string]: unknown }

/** Returns the changed fields of the figures; undefined if the two have different fields. */
export function changedSince(before: Figures, figures: Figures): Figures | undefined {
  if (!haveSameFields(before, figures)) return undefined
  const changed = Object.entries(figures).filter(([field, value]) => !isSameJson(before[field], value))
  return Object.fromEntries(changed)
}

/** In the same order, so that merging preserves it. An undefined field is omitted in a line. */
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

/**
 * Changes since the previous iteration; nested objects with the same fields only have changed ones. `whole` names
 * fields that are replaced instead of merged.
 */
export interface FigureChanges {
  readonly delta: Figures
  readonly whole?: readonly string[]
}

const same = Symbol('same')
const other = Symbol('other')

/** Returns the changes of the figures; undefined if the two have different fields. */
export function changesSince(before: Figures, figures: Figures): FigureChanges | undefined {
  const whole: string[] = []
  const delta = deltaOf(before, figures, whole)
  if (delta === other) return undefined
  const changed = delta === same ? {} : (delta as Figures)
  return whole.length === 0 ? { delta: changed } : { delta: changed, whole }
}

function differenceOf(before: unknown, after: unknown): unknown {
  if (before === after) return same
  if (!isFigures(before) || !isFigures(after)) return isSameJson(before, after) ? same : after
  return deltaOf(before, after)
}

/**
 * Returns changed fields of two objects with the same fields in the same order; `other` if those differ. Fields that
 * cannot be merged are replaced, and named in `whole` if given. Called every turn, so unchanged fields allocate
 * nothing.
 */
function deltaOf(before: Figures, after: Figures, whole?: string[]): unknown {
  const [fields, others] = [Object.keys(after), Object.keys(before)]
  if (!areSame(fields, others)) return deltaOfOthers(before, after, whole)
  const [values, old] = [Object.values(after), Object.values(before)]
  let delta: { [field: string]: unknown } | undefined
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (value === old[index]) continue
    const field = fields[index] ?? ''
    if (value === undefined || old[index] === undefined || field === '__proto__') {
      whole?.splice(0)
      return deltaOfOthers(before, after, whole)
    }
    const difference = differenceOf(old[index], value)
    if (difference === same) continue
    if (difference === other && whole === undefined) return other
    if (difference === other) whole?.push(field)
    ;(delta ??= {})[field] = difference === other ? value : difference
  }
  return delta ?? same
}

function areSame(fields: readonly string[], others: readonly string[]): boolean {
  if (fields.length !== others.length) return false
  for (let index = 0; index < fields.length; index++) if (fields[index] !== others[index]) return false
  return true
}

/** The same for objects with missing or undefined fields. */
function deltaOfOthers(before: Figures, after: Figures, whole?: string[]): unknown {
  const [fields, others] = [Object.keys(after), Object.keys(before)]
  let next = 0
  let delta: { [field: string]: unknown } | undefined
  for (const field of fields) {
    const value = after[field]
    if (value === undefined) continue
    while (next < others.length && before[others[next] ?? ''] === undefined) next++
    // Merging sets fields, and `__proto__` would not become one.
    if (others[next++] !== field || field === '__proto__') return other
    const difference = differenceOf(before[field], value)
    if (difference === same) continue
    if (difference === other && whole === undefined) return other
    if (difference === other) whole?.push(field)
    ;(delta ??= {})[field] = difference === other ? value : difference
  }
  while (next < others.length && before[others[next] ?? ''] === undefined) next++
  return next < others.length ? other : (delta ?? same)
}

/**
 * Applies changes of `changesSince`. `inPlace` modifies `before`.
 * @throws TypeError for a missing field.
 */
export function withChanges(before: Figures, { delta, whole }: FigureChanges, inPlace: boolean): Figures {
  const merged: { [field: string]: unknown } = inPlace ? before : { ...before }
  for (const field of Object.keys(delta)) {
    if (!Object.hasOwn(before, field) || field === '__proto__')
      throw new TypeError('it has changes of a figure that is missing')
    const [old, now] = [before[field], delta[field]]
    const isMerged = isFigures(old) && isFigures(now) && whole?.includes(field) !== true
    merged[field] = isMerged ? withChanges(old, { delta: now }, inPlace) : now
  }
  return merged
}

function isFigures(value: unknown): value is Figures {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
