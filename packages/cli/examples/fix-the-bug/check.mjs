// Checks config.mjs: `node check.mjs` prints a line for each promise and ends with 1 when one does not hold.
import { isDeepStrictEqual } from 'node:util'
import {
  cacheState,
  ConfigError,
  freeSlots,
  isLogged,
  isWorthRetrying,
  loadConfig,
  refusalOf,
  retryDelayMs,
} from './config.mjs'

const promises = {
  'delays double and stay at the longest': () => [
    [1, 2, 3, 4, 5, 6].map((attempt) => retryDelayMs(attempt)),
    [200, 400, 800, 1600, 2000, 2000],
  ],
  'an error that is final is not tried again': () => [
    [isWorthRetrying(503, 1), isWorthRetrying(404, 1), isWorthRetrying(503, 5)],
    [true, false, false],
  ],
  'cache entries get stale and then go': () => [
    [0, 600_000, 4_199_999, 4_200_000].map((ageMs) => cacheState(ageMs)),
    ['fresh', 'stale', 'stale', 'gone'],
  ],
  'no host takes all slots': () => [
    [freeSlots(0, 0), freeSlots(7, 1), freeSlots(8, 0)],
    [2, 1, 0],
  ],
  'our own network is not fetched': () => [
    ['https://example.com/a', 'http://[::1]/', 'https://db.internal/'].map(
      (address) => refusalOf(address) === undefined,
    ),
    [true, false, false],
  ],
  'a lower log level is left out': () => [
    [isLogged('warn'), isLogged('debug')],
    [true, false],
  ],
  'a setting that cannot work is refused': () => [refused({ LOG_LEVEL: 'loud' }), true],
}

function refused(environment) {
  try {
    loadConfig(environment)
    return false
  } catch (error) {
    return error instanceof ConfigError
  }
}

let failures = 0
for (const [promise, look] of Object.entries(promises)) {
  const [found, expected] = look()
  const holds = isDeepStrictEqual(found, expected)
  if (!holds) failures += 1
  console.log(`${holds ? 'ok    ' : 'failed'} ${promise}`)
  if (!holds) console.log(`       expected ${JSON.stringify(expected)}\n       found    ${JSON.stringify(found)}`)
}
const count = Object.keys(promises).length
console.log(`${count - failures} of ${count} hold, ${failures} errors`)
process.exitCode = failures === 0 ? 0 : 1
