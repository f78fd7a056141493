import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, listedStates, logFormats } from '../flags.ts'
import { namedMoment } from '../time-values.ts'
import {
  urlAddress,
  choice,
  duration,
  filledText,
  identityKey,
  list,
  portNumber,
  pageSize,
  retention,
  tokens,
  wholeNumber,
} from '../values.ts'

type ClusterFlag =
  | 'cluster'
  | 'restate'
  | 'admin'
  | 'register'
  | 'port'
  | 'host'
  | 'workspaces'
  | 'workspaceTemplate'
  | 'folders'
  | 'payloads'
  | 'identityKey'
  | 'concurrency'
  | 'tenant'
  | 'limit'
  | 'cursor'
  | 'state'
  | 'olderThan'
  | 'allowedTenants'
  | 'maxConcurrentRequests'
  | 'requestsPerMinute'
  | 'tokensPerMinute'
  | 'grace'
  | 'retain'
  | 'takeOver'
  | 'logFormat'
  | 'server'

/** Flags about sessions on a cluster. */
export const clusterFlags: { readonly [Name in ClusterFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  cluster: {
    names: ['--cluster'],
    topic: 'cluster',
    kind: 'value',
    value: 'URL',
    read: urlAddress,
    alsoOf: ['approve', 'deny', 'doctor', 'inspect', 'replay', 'report', 'sessions', 'what-if', 'why'],
    meaning: 'Use sessions on the cluster at this address',
  },
  restate: {
    names: ['--restate'],
    topic: 'cluster',
    kind: 'value',
    value: 'URL',
    read: urlAddress,
    commands: ['serve'],
    meaning: 'Address where the cluster accepts requests, such as http://127.0.0.1:8080',
  },
  admin: {
    names: ['--admin'],
    topic: 'cluster',
    kind: 'value',
    value: 'URL',
    read: urlAddress,
    alsoOf: ['approve', 'deny', 'doctor', 'inspect', 'replay', 'report', 'serve', 'sessions', 'what-if', 'why'],
    meaning: "Admin address of the cluster (default: port 9070 of the cluster's host)",
  },
  register: {
    names: ['--register'],
    topic: 'cluster',
    kind: 'value',
    value: '[URL]',
    read: urlAddress,
    without: '',
    commands: ['serve'],
    meaning: 'Register this worker with the cluster, under this address (default: http://HOST:PORT)',
  },
  port: {
    names: ['--port'],
    topic: 'cluster',
    kind: 'value',
    value: 'N',
    read: portNumber,
    commands: ['serve', 'cluster dev', 'inspect'],
    meaning: 'Port that the worker listens on (default: 9080)',
    meaningFor: { inspect: 'Port of the page (default: any free port)' },
  },
  host: {
    names: ['--host'],
    topic: 'cluster',
    kind: 'value',
    value: 'ADDRESS',
    read: filledText,
    commands: ['serve', 'cluster dev'],
    meaning: 'Address that the worker listens on (default: 127.0.0.1)',
  },
  workspaces: {
    names: ['--workspaces'],
    topic: 'cluster',
    kind: 'value',
    value: 'DIRECTORY',
    read: filledText,
    commands: ['serve', 'cluster dev'],
    meaning: 'Directory that holds one folder for each session (default: halting-workspaces)',
  },
  workspaceTemplate: {
    names: ['--workspace-template'],
    topic: 'cluster',
    kind: 'value',
    value: 'DIRECTORY',
    read: filledText,
    commands: ['serve', 'cluster dev'],
    meaning: 'Directory that is copied into the folder of a new session (default: none, the folder is empty)',
  },
  folders: {
    names: ['--folders'],
    topic: 'cluster',
    kind: 'value',
    value: 'DIRECTORY',
    read: filledText,
    commands: ['serve'],
    meaning: 'Let sessions work in folders below this directory that they name (default: not allowed)',
  },
  payloads: {
    names: ['--payloads'],
    topic: 'cluster',
    kind: 'value',
    value: 'PLACE',
    read: filledText,
    commands: ['serve'],
    meaning: 'Store what is too large for the cluster in this folder that all workers share, or in s3://BUCKET/PREFIX',
  },
  identityKey: {
    names: ['--identity-key'],
    topic: 'cluster',
    kind: 'list',
    value: 'KEY',
    read: identityKey,
    commands: ['serve'],
    meaning:
      'Accept requests only from the engine that signs with this key (publickeyv1_...). Repeat the flag for more keys',
  },
  concurrency: {
    names: ['--concurrency'],
    topic: 'cluster',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    commands: ['serve', 'cluster dev'],
    meaning: 'Maximum number of sessions that run at once; others wait (default: 16)',
  },
  tenant: {
    names: ['--tenant'],
    topic: 'cluster',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    alsoOf: ['sessions'],
    meaning: 'Charge sessions to the shared budget of this tenant (default: none)',
    meaningFor: { sessions: 'List only sessions of this tenant' },
  },
  limit: {
    names: ['--limit'],
    topic: 'commands',
    kind: 'value',
    value: 'N',
    read: pageSize,
    commands: ['sessions'],
    meaning: 'With --cluster: number of sessions on a page, up to 1000 (default: 50)',
  },
  cursor: {
    names: ['--cursor'],
    topic: 'commands',
    kind: 'value',
    value: 'CURSOR',
    read: filledText,
    commands: ['sessions'],
    meaning: 'With --cluster: continue after the page that printed this (nextCursor in JSON)',
  },
  state: {
    names: ['--state'],
    topic: 'commands',
    kind: 'value',
    value: listedStates.join('|'),
    read: choice(listedStates),
    commands: ['sessions'],
    meaning: 'With --cluster: list only sessions in this state; waiting: for a person',
  },
  olderThan: {
    names: ['--older-than'],
    topic: 'commands',
    kind: 'value',
    value: 'AGE|DATE',
    read: namedMoment,
    commands: ['sessions'],
    meaning: 'With --cluster: list only sessions that have not changed since (12h, 30d, 2w, 2026-11-01)',
  },
  allowedTenants: {
    names: ['--allowed-tenants'],
    topic: 'cluster',
    kind: 'list',
    value: 'NAMES',
    read: list,
    commands: ['serve', 'cluster dev'],
    meaning: 'Tenants that sessions may name when they start (default: none)',
  },
  maxConcurrentRequests: {
    names: ['--max-concurrent-requests'],
    topic: 'cluster',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    commands: ['serve', 'cluster dev'],
    meaning: 'Maximum number of concurrent requests of all workers with one provider key',
  },
  requestsPerMinute: {
    names: ['--requests-per-minute'],
    topic: 'cluster',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    commands: ['serve', 'cluster dev'],
    meaning: 'Maximum number of requests a minute of all workers with one provider key',
  },
  tokensPerMinute: {
    names: ['--tokens-per-minute'],
    topic: 'cluster',
    kind: 'value',
    value: 'N',
    read: tokens,
    commands: ['serve', 'cluster dev'],
    meaning: 'Maximum number of tokens a minute of these requests, input and output',
  },
  grace: {
    names: ['--grace'],
    topic: 'cluster',
    kind: 'value',
    value: 'TIME',
    read: duration,
    commands: ['serve'],
    meaning: 'Time that sessions have after SIGTERM to reach their next iteration (default: 30s)',
  },
  retain: {
    names: ['--retain'],
    topic: 'cluster',
    kind: 'value',
    value: 'TIME',
    read: retention,
    commands: ['serve'],
    meaning:
      'Remove sessions, their records and their folders when nothing has changed in them for this long, such as 30d; at least 1h (default: never)',
  },
  takeOver: {
    names: ['--take-over'],
    topic: 'cluster',
    kind: 'switch',
    commands: ['serve'],
    meaning: 'Move sessions that run on other workers to this worker at their next iteration',
  },
  logFormat: {
    names: ['--log-format'],
    topic: 'cluster',
    kind: 'value',
    value: 'FORMAT',
    read: choice(logFormats),
    commands: ['serve'],
    meaning: 'Write the log to stderr as sentences (text) or as one JSON object per line (json) (default: text)',
  },
  server: {
    names: ['--server'],
    topic: 'cluster',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    commands: ['cluster dev'],
    meaning: 'Start this restate-server (default: the one from npm)',
  },
}
