/** From one moment to another, in milliseconds since 1970; null for no bound. The second is not in it. */
export interface Period {
  /** The first moment. */
  readonly since: number | null
  /** The moment after the last. */
  readonly until: number | null
}

/** Whether a moment is in it. One that is not known is in a period without bounds alone. */
export function isWithin({ since, until }: Period, at: number | null): boolean {
  if (at === null) return since === null && until === null
  return (since === null || at >= since) && (until === null || at < until)
}

/** `2026-11-23`, in the time zone of this machine; '' where it is not known. */
export function dayOf(at: number | null): string {
  if (at === null) return ''
  const date = new Date(at)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
