/**
 * How long a message asks to wait, in milliseconds, for services that say it in words alone: "Please try again in 1m2.5s",
 * "Please retry after 26 seconds". Null when it does not say.
 */
export function saidWaitMs(message: string): number | null {
  if (message.length > longestMessage) return null
  const said = /\b(?:try again|retry) (?:in|after) (?<time>(?:[\d.]+ ?[a-z]+ ?)+)/i.exec(message)?.groups?.time
  if (said === undefined) return null
  let waitMs = 0
  for (const [, count, unit = ''] of said.matchAll(/(\d+(?:\.\d+)?) ?([a-z]+)/gi)) {
    const unitMs = msOf(unit.toLowerCase())
    // The first word that is no unit belongs to the sentence, not to the time.
    if (unitMs === undefined) break
    waitMs += Number(count) * unitMs
  }
  return waitMs === 0 ? null : Math.ceil(waitMs)
}

/** Longer than what is read of any message. */
const longestMessage = 4_096

function msOf(unit: string): number | undefined {
  if (/^(ms|milliseconds?)$/.test(unit)) return 1
  if (/^(s|secs?|seconds?)$/.test(unit)) return 1000
  if (/^(m|mins?|minutes?)$/.test(unit)) return 60_000
  return /^(h|hours?)$/.test(unit) ? 3_600_000 : undefined
}
