// Settings of the download service: how it listens, what it fetches, how often it tries again, and what it refuses.
//
// Every setting has a default here. A setting may be changed by an environment variable, named at its place.
// `loadConfig()` puts both together and refuses what cannot work. Run `node check.mjs` after a change.

const second = 1_000
const minute = 60 * second
const kilobyte = 1_024
const megabyte = 1_024 * kilobyte

const known = Object.freeze({ logLevels: ['error', 'warn', 'info', 'debug'], protocols: ['https:', 'http:'] })

/** Where the service listens. */
const server = {
  host: '127.0.0.1',
  // PORT
  port: 8_080,
  requestTimeoutMs: 30 * second,
  keepAliveMs: 5 * second,
  largestBodyBytes: 2 * megabyte,
}

/** How a failed download is tried again. */
const retry = {
  // RETRY_ATTEMPTS
  attempts: 5,
  firstDelayMs: 200,
  factor: 2,
  longestDelayMs: 2 * second,
  // Answers of a server that say "later", and not "never".
  statuses: [408, 425, 429, 500, 502, 503, 504],
}

/**
 * How long to wait before try number `attempt` (the first one after a failure is 1), in milliseconds.
 * The delay doubles from one try to the next, until it has reached `longestDelayMs`, and stays there:
 *
 *   200, 400, 800, 1600, 2000, 2000, …
 */
export function retryDelayMs(attempt, { firstDelayMs, factor, longestDelayMs } = retry) {
  const delay = firstDelayMs * factor ** (attempt - 1)
  return Math.max(delay, longestDelayMs)
}

/** Whether a failed download is worth another try. */
export function isWorthRetrying(status, attempt, { attempts, statuses } = retry) {
  return attempt < attempts && statuses.includes(status)
}

/** What is kept of what was downloaded. */
const cache = {
  // CACHE_DIR
  directory: 'cache',
  largestEntryBytes: 64 * megabyte,
  largestTotalBytes: 1_024 * megabyte,
  freshForMs: 10 * minute,
  // Served while a new copy is fetched.
  staleForMs: 60 * minute,
}

/** The state of a cache entry of this age. */
export function cacheState(ageMs, { freshForMs, staleForMs } = cache) {
  if (ageMs < freshForMs) return 'fresh'
  return ageMs < freshForMs + staleForMs ? 'stale' : 'gone'
}

/** How much goes on at once. */
const limits = {
  // MAX_DOWNLOADS
  downloads: 8,
  downloadsPerHost: 2,
  queued: 500,
  redirects: 5,
  largestDownloadBytes: 512 * megabyte,
}

/** How many downloads may start now. */
export function freeSlots(running, runningOnHost, { downloads, downloadsPerHost } = limits) {
  return Math.max(0, Math.min(downloads - running, downloadsPerHost - runningOnHost))
}

/** Which addresses are fetched. */
const addresses = {
  protocols: known.protocols,
  // Names that lead back into our own network.
  refusedHosts: ['localhost', '127.0.0.1', '::1', '169.254.169.254', 'metadata.internal'],
  refusedSuffixes: ['.internal', '.local'],
}

/** Why an address is not fetched; undefined when it may be. */
export function refusalOf(address, { protocols, refusedHosts, refusedSuffixes } = addresses) {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) return 'not an address'
  if (!protocols.includes(url.protocol)) return `the protocol ${url.protocol} is not served`
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (refusedHosts.includes(host)) return `${host} is in our own network`
  const suffix = refusedSuffixes.find((end) => host.endsWith(end))
  return suffix === undefined ? undefined : `names that end in ${suffix} are in our own network`
}

/** What is written to the log. */
const log = {
  // LOG_LEVEL
  level: 'info',
  levels: known.logLevels,
  // Headers whose values are not written.
  secretHeaders: ['authorization', 'cookie', 'set-cookie', 'x-api-key'],
}

/** Whether a line of this level is written. */
export function isLogged(level, { level: lowest, levels } = log) {
  return levels.indexOf(level) <= levels.indexOf(lowest)
}

/** Headers as the log shows them. */
export function shownHeaders(headers, { secretHeaders } = log) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, secretHeaders.includes(name.toLowerCase()) ? '…' : value]),
  )
}

/** Environment variables and the settings that they change. */
const variables = {
  PORT: { section: 'server', setting: 'port', kind: 'number' },
  RETRY_ATTEMPTS: { section: 'retry', setting: 'attempts', kind: 'number' },
  CACHE_DIR: { section: 'cache', setting: 'directory', kind: 'text' },
  MAX_DOWNLOADS: { section: 'limits', setting: 'downloads', kind: 'number' },
  LOG_LEVEL: { section: 'log', setting: 'level', kind: 'text' },
}

/** A setting that cannot work. */
export class ConfigError extends Error {
  name = 'ConfigError'
}

/** All settings, with what the environment says. Throws `ConfigError` for a setting that cannot work. */
export function loadConfig(environment = process.env) {
  const config = structuredClone({ server, retry, cache, limits, addresses, log })
  for (const [name, { section, setting, kind }] of Object.entries(variables)) {
    const text = environment[name]?.trim() ?? ''
    if (text !== '') config[section][setting] = kind === 'number' ? numberFrom(name, text) : text
  }
  const problems = problemsOf(config)
  if (problems.length > 0) throw new ConfigError(`The settings cannot work: ${problems.join('; ')}`)
  return deepFreeze(config)
}

function numberFrom(name, text) {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new ConfigError(`${name} must be a whole number, not "${text}"`)
}

/** Everything that is wrong with the settings, in words. */
function problemsOf({ server, retry, cache, limits, log }) {
  const rules = [
    [server.port <= 65_535, `the port is ${server.port}, and there are 65535`],
    [retry.attempts >= 1, 'at least one attempt is needed'],
    [retry.factor >= 1, 'the factor of the delays must not make them shorter'],
    [retry.firstDelayMs <= retry.longestDelayMs, 'the first delay is longer than the longest'],
    [cache.directory !== '', 'the cache has no directory'],
    [cache.largestEntryBytes <= cache.largestTotalBytes, 'one entry may be larger than the whole cache'],
    [limits.downloads >= 1, 'no download could ever start'],
    [limits.downloadsPerHost <= limits.downloads, 'more downloads a host than in all'],
    [log.levels.includes(log.level), `there is no log level "${log.level}"`],
  ]
  return rules.flatMap(([holds, problem]) => (holds ? [] : [problem]))
}

function deepFreeze(value) {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

/** Why a setting has the value that it has: by a variable, or by default. */
export function originOf(section, setting, environment = process.env) {
  const [name] = Object.entries(variables).find(([, one]) => one.section === section && one.setting === setting) ?? []
  if (name === undefined) return 'fixed'
  return (environment[name]?.trim() ?? '') === '' ? `default (${name} is not set)` : name
}

/** How much of the room for downloads is in use, from 0 to 1. */
export function load(running, { downloads } = limits) {
  return Math.min(1, running / downloads)
}

/** The settings in short lines, for the start of the log. */
export function describeConfig({ server, retry, cache, limits }) {
  const delays = Array.from({ length: retry.attempts - 1 }, (_, index) => retryDelayMs(index + 1, retry))
  return [
    `listens on ${server.host}:${server.port}, requests take ${server.requestTimeoutMs / second} s at most`,
    `tries ${retry.attempts} times, waits ${delays.join(', ')} ms`,
    `keeps ${cache.largestTotalBytes / megabyte} MB in ${cache.directory}`,
    `runs ${limits.downloads} downloads at once, ${limits.downloadsPerHost} a host`,
  ].join('\n')
}
