/** A standing budget to try: so many US dollars a day or a month, of all models or of those that a pattern names. */
export interface StandingLimit {
  readonly per: 'day' | 'month'
  /** US dollars; `Infinity` limits nothing. */
  readonly usd: number
  /** The name of a model, in which `*` stands for any characters; all models when absent. */
  readonly model?: string
}

/** How a standing budget is called: `$20 a day`, `$5 a month for claude-opus-*`. */
export function standingLimitName({ per, usd, model }: StandingLimit): string {
  const decimals = Math.min(9, Math.max(2, String(usd).split('.')[1]?.length ?? 0))
  const dollars = Number.isInteger(usd) || !Number.isFinite(usd) ? String(usd) : usd.toFixed(decimals)
  return `$${dollars} a ${per}${model === undefined ? '' : ` for ${model}`}`
}

/** Whether a budget counts requests to this model. */
export function countsModel({ model: pattern }: StandingLimit, model: string): boolean {
  if (pattern === undefined) return true
  const parts = pattern.split('*')
  const [first = ''] = parts
  if (parts.length === 1) return model === pattern
  const last = parts.at(-1) ?? ''
  if (!model.startsWith(first) || !model.endsWith(last) || model.length < first.length + last.length) return false
  const end = model.length - last.length
  let from = first.length
  for (const part of parts.slice(1, -1)) {
    const at = model.indexOf(part, from)
    if (at < 0 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

/** A day or a month of the local time zone: from one moment to the next period, in milliseconds since 1970. */
export interface LocalPeriod {
  /** `2026-11-28` or `2026-11`. */
  readonly name: string
  readonly end: number
}

/** The day or the month in which a moment lies. */
export function localPeriod(per: StandingLimit['per'], moment: number): LocalPeriod {
  const date = new Date(moment)
  const [year, month] = [date.getFullYear(), date.getMonth()]
  const name = localTime(moment).slice(0, per === 'day' ? 10 : 7)
  const end = per === 'day' ? new Date(year, month, date.getDate() + 1) : new Date(year, month + 1, 1)
  return { name, end: end.getTime() }
}

/** A moment in ISO 8601, with the offset of the local time zone. */
export function localTime(moment: number): string {
  const date = new Date(moment)
  const offset = -date.getTimezoneOffset()
  const two = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, '0')
  const local = new Date(moment + offset * 60_000).toISOString().slice(0, 19)
  return `${local}${offset < 0 ? '-' : '+'}${two(offset / 60)}:${two(offset % 60)}`
}
