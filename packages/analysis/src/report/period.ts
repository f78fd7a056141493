/** A period in milliseconds since 1970; null for no bound. */
export interface Period {
  /** The first moment of the period. */
  readonly since: number | null
  /** The first moment after the period. */
  readonly until: number | null
}

/** Whether a moment is in the period. An unknown moment (null) is only in a period without bounds. */
export function isWithin({ since, until }: Period, at: number | null): boolean {
  if (at === null) return since === null && until === null
  return (since === null || at >= since) && (until === null || at < until)
}

/** `2026-11-23`, in the time zone of this machine; '' for an unknown moment. */
export function dayOf(at: number | null): string {
  if (at === null) return ''
  const date = new Date(at)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
