import type { FlagFor } from '../flag-kinds.ts'
import { type Flags } from '../flags.ts'
import { address, duration, filledText, identityKey, list, portNumber, tokens, wholeNumber } from '../values.ts'

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
  | 'allowedTenants'
  | 'maxConcurrentRequests'
  | 'requestsPerMinute'
  | 'tokensPerMinute'
  | 'grace'
  | 'takeOver'
  | 'server'

/** Flags about sessions on a cluster. */
export const clusterFlags: { readonly [Name in ClusterFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  cluster: {
    names: ['--cluster'],
    group: 'cluster',
    kind: 'value',
    value: 'URL',
    read: address,
    alsoOf: ['approve', 'deny', 'inspect', 'report', 'sessions', 'what-if', 'why'],
    meaning:
      'Of a session, -p, sessions, why, what-if, report, inspect, approve, deny and cluster budget: the address of the cluster',
  },
  restate: {
    names: ['--restate'],
    group: 'cluster',
    kind: 'value',
    value: 'URL',
    read: address,
    commands: ['serve'],
    meaning: 'Of serve: where the cluster takes requests, such as http://127.0.0.1:8080',
  },
  admin: {
    names: ['--admin'],
    group: 'cluster',
    kind: 'value',
    value: 'URL',
    read: address,
    alsoOf: ['approve', 'deny', 'inspect', 'report', 'sessions', 'what-if', 'why'],
    meaning: 'Where the cluster is administered; port 9070 beside its address unless said otherwise',
  },
  register: {
    names: ['--register'],
    group: 'cluster',
    kind: 'value',
    value: '[URL]',
    read: address,
    without: '',
    commands: ['serve'],
    meaning: 'Of serve: tell the cluster of this worker, under this address; http://HOST:PORT without one',
  },
  port: {
    names: ['--port'],
    group: 'cluster',
    kind: 'value',
    value: 'N',
    read: portNumber,
    alsoOf: ['inspect'],
    meaning:
      'Of serve: where the worker listens; 9080 unless said otherwise. Of inspect: where the page is; any that is free',
  },
  host: {
    names: ['--host'],
    group: 'cluster',
    kind: 'value',
    value: 'ADDRESS',
    read: filledText,
    meaning: 'Of serve: on which address it listens; 127.0.0.1 unless said otherwise',
  },
  workspaces: {
    names: ['--workspaces'],
    group: 'cluster',
    kind: 'value',
    value: 'DIRECTORY',
    read: filledText,
    meaning: 'Of serve: where each session has a folder of its own; halting-workspaces unless said otherwise',
  },
  workspaceTemplate: {
    names: ['--workspace-template'],
    group: 'cluster',
    kind: 'value',
    value: 'DIRECTORY',
    read: filledText,
    meaning: 'Of serve: what the folder of a new session is a copy of; it is empty without one',
  },
  folders: {
    names: ['--folders'],
    group: 'cluster',
    kind: 'value',
    value: 'DIRECTORY',
    read: filledText,
    commands: ['serve'],
    meaning: 'Of serve: sessions may name a folder below this one to work in; none may without it',
  },
  payloads: {
    names: ['--payloads'],
    group: 'cluster',
    kind: 'value',
    value: 'PLACE',
    read: filledText,
    commands: ['serve'],
    meaning: 'Of serve: a folder that all workers share, or s3://BUCKET/PREFIX, for what is too large for the cluster',
  },
  identityKey: {
    names: ['--identity-key'],
    group: 'cluster',
    kind: 'list',
    value: 'KEY',
    read: identityKey,
    commands: ['serve'],
    meaning: 'Of serve: answer only the engine that signs with this key (publickeyv1_...); may be given several times',
  },
  concurrency: {
    names: ['--concurrency'],
    group: 'cluster',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    meaning: 'Of serve: sessions at work at once, others wait; 16 unless said otherwise',
  },
  tenant: {
    names: ['--tenant'],
    group: 'cluster',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning:
      'Of serve: whose budget its sessions spend from together; nobody’s unless said otherwise. With --cluster: that of a new session, among --allowed-tenants',
  },
  allowedTenants: {
    names: ['--allowed-tenants'],
    group: 'cluster',
    kind: 'list',
    value: 'NAMES',
    read: list,
    commands: ['serve', 'cluster dev'],
    meaning: 'Of serve: tenants that sessions may name in their opening; none may without it',
  },
  maxConcurrentRequests: {
    names: ['--max-concurrent-requests'],
    group: 'cluster',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    commands: ['serve', 'cluster dev'],
    meaning: 'Of serve: requests of all workers together at one key of a provider, at once',
  },
  requestsPerMinute: {
    names: ['--requests-per-minute'],
    group: 'cluster',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    commands: ['serve', 'cluster dev'],
    meaning: 'Of serve: the same, in a minute',
  },
  tokensPerMinute: {
    names: ['--tokens-per-minute'],
    group: 'cluster',
    kind: 'value',
    value: 'N',
    read: tokens,
    commands: ['serve', 'cluster dev'],
    meaning: 'Of serve: tokens that these requests may have in a minute, in and out',
  },
  grace: {
    names: ['--grace'],
    group: 'cluster',
    kind: 'value',
    value: 'TIME',
    read: duration,
    commands: ['serve'],
    meaning: 'Of serve: after SIGTERM sessions may go on so long to their next lap; 30s unless said otherwise',
  },
  takeOver: {
    names: ['--take-over'],
    group: 'cluster',
    kind: 'switch',
    commands: ['serve'],
    meaning: 'Of serve: sessions that run on other workers come to this one at their next lap',
  },
  server: {
    names: ['--server'],
    group: 'cluster',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    commands: ['cluster dev'],
    meaning: 'Of cluster dev: a restate-server that is there, in place of the one from npm',
  },
}
