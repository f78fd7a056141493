import { bootstrapVariables } from '@halting/agent'
import {
  type RunLimitDefault,
  type RunSettings as SessionSettings,
  type SessionPorts,
  settingsOf,
} from '@halting/agent/session-settings'
import { sessionStoreVariable } from '@halting/journal'
import { clusterTokenVariable } from '../cluster/cluster-token-variable.ts'
import { workerTokenVariable } from '../cluster/worker-token.ts'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { versionOf } from '../version.ts'
import type { Flags } from './flags.ts'
import { noticeText } from './notice-text.ts'

/** The settings of a run, with the flags and the environment that result from them. */
export type RunSettings = SessionSettings<Flags>

/** Variables that contain keys of collectors. */
const headerVariables = ['', 'TRACES_', 'METRICS_', 'LOGS_'].map((signal) => `OTEL_EXPORTER_OTLP_${signal}HEADERS`)

/** What a session needs from the program: notices go to stderr, and options are named by their flags. */
export function sessionPorts(
  program: Pick<Program, 'cwd' | 'env' | 'output' | 'home'>,
  flags: Pick<Flags, 'trust' | 'settingSources'>,
): SessionPorts {
  const { cwd, env, output } = program
  return {
    cwd,
    env,
    version: () => versionOf(program),
    trustedBy: trustSource(flags, env),
    hiddenVariables: [clusterTokenVariable, workerTokenVariable, sessionStoreVariable, ...headerVariables],
    nameOf: flagOf,
    wordNotice: noticeText,
    note: (text) => output.err(programMessage(text)),
    redactWith: (redact) => output.redactWith(redact),
  }
}

/** The flag of a session option. */
export function flagOf(choice: string): string {
  return `--${choice.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** What trusts the folder for this run: a flag, a variable, or undefined. */
export function trustSource(
  { trust, settingSources: sources }: Pick<Flags, 'trust' | 'settingSources'>,
  env: Program['env'],
): string | undefined {
  if (trust === true) return '--trust'
  if (env['HALTING_TRUST_FOLDER'] === '1') return 'HALTING_TRUST_FOLDER=1'
  return sources?.includes('project') === true ? '--setting-sources' : undefined
}

/** Loads the settings of a run. @throws ConfigurationError for invalid settings */
export async function settingsFor(
  flags: Flags,
  { cwd, env }: Pick<Program, 'cwd' | 'env'>,
  runLimit?: RunLimitDefault,
): Promise<RunSettings> {
  const ports = { cwd, env, trustedBy: trustSource(flags, env), nameOf: flagOf, wordNotice: noticeText }
  return settingsOf(flags, ports, { runLimit })
}

/** Sets variables of the settings in the process, where libraries read them, such as the proxy. */
export function applyEnvironment({ settings }: Pick<RunSettings, 'settings'>): void {
  for (const [name, value] of Object.entries(settings.env ?? {}))
    if (!bootstrapVariables.has(name)) process.env[name] = value
}
