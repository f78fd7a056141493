import { homeFolder } from '@halting/policy/files'
import { runsAnything, sandboxSettingsOf } from '@halting/policy'
import { SettingsError } from '@halting/policy/settings'
import { ConfigurationError } from '@halting/core'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { type Style, styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { runLimitOfPrint, waitOfPeople } from '../flags/run-limit.ts'
import { type RunSettings, settingsFor } from '../flags/session-ports.ts'
import { wallOf } from '@halting/agent/open-session'
import { pageFor } from '../io/page.ts'
import { tableLines } from '../io/table.ts'
import { type ConfinementLines, confinementLines } from '../frontends/confinement-words.ts'

/** `halting config`: prints the effective settings, their sources, and what is ignored and why. Returns 2 if no run can start. */
export async function config(flags: Flags, program: Program): Promise<number> {
  const { output, env } = program
  try {
    const run = await settingsFor(flags, program, runLimitOfPrint)
    const report = configReport(withSessionStore(run, program), confinementOf(flags, run, program))
    const style = styleFor(output.isTerminal.stdout, env)
    output.out(wantsJson(flags) ? `${JSON.stringify(report)}\n` : pageFor(output, reportText(report, style)))
    return 0
  } catch (thrown) {
    // Invalid JSON and unreadable files are reported as problems, too.
    if (!(thrown instanceof ConfigurationError)) throw thrown
    const messages = thrown instanceof SettingsError ? thrown.problems : [thrown.message]
    const problems = messages.map((problem) => oneLine(problem, Infinity))
    output.out(
      wantsJson(flags)
        ? `${JSON.stringify({ problems })}\n`
        : `A run cannot start with these settings:\n${problems.map((problem) => `  ${problem}\n`).join('')}`,
    )
    return 2
  }
}

interface Report {
  readonly files: readonly { readonly level: string; readonly name: string }[]
  readonly settings: readonly {
    readonly setting: string
    readonly value: unknown
    readonly from: string
    /** How this allow rule lets any program run, if it does. */
    readonly runsAnything?: string
  }[]
  readonly ignored: readonly {
    readonly setting: string
    readonly text: string
    readonly from: string
    readonly why: string
  }[]
  readonly trust: { readonly folder: string; readonly trusted: boolean; readonly because: string } | null
  readonly warnings: readonly string[]
  /** How commands are confined that run because they only read. */
  readonly confinement: string
  // Spec R-EFRONT-3.
  /** How commands without a rule are confined in `acceptEdits`. */
  readonly editConfinement: string
  /** How commands are tried before a permission request; absent without `tryReadOnly`. */
  readonly trials?: string
}

function confinementOf(flags: Flags, { settings }: RunSettings, { cwd, env }: Program): ConfinementLines {
  const isSandboxed = flags.sandbox === true || sandboxSettingsOf(settings.sandbox ?? []).enabled
  return confinementLines(wallOf({ cwd, env, home: homeFolder(env) }, settings), settings, isSandboxed)
}

function configReport(run: RunSettings, { read, edit, trial }: ConfinementLines): Report {
  const { files, origins, ignored, trust, warnings } = run
  return {
    files: files.map(({ level, name }) => ({ level, name })),
    settings: [...origins, ...defaultLimits(run)].map(({ setting, value, from }) => ({
      setting,
      value: displayValue(setting, value),
      from,
      ...unrestrictedRule(setting, value),
    })),
    ignored: ignored.map(({ setting, text, from, why }) => ({ setting, text: displayOffer(setting, text), from, why })),
    trust: trust === undefined ? null : { folder: trust.folder, trusted: trust.trusted, because: trust.because },
    warnings,
    confinement: read,
    editConfinement: edit,
    ...(trial !== undefined && { trials: trial }),
  }
}

/** Adds the session store with its source: a flag or a variable overrides the settings. */
function withSessionStore(run: RunSettings, { sessionStore }: Program): RunSettings {
  const others = run.origins.filter(({ setting }) => setting !== 'sessionStore')
  if (sessionStore === undefined) return { ...run, origins: others }
  const { name: value, from } = sessionStore
  return { ...run, origins: [...others, { setting: 'sessionStore', value, from }] }
}

/** The default dollar limit of runs, and the default wait for services. */
function defaultLimits({ choices, limitSources, waitSource }: RunSettings): RunSettings['origins'] {
  const { written, from } = waitOfPeople
  return [
    ...(limitSources?.maxRunUsd === 'default'
      ? [
          {
            setting: 'limits.maxRunUsd',
            value: choices.maxRunUsd,
            from: 'default of -p and the interactive program',
          },
        ]
      : []),
    ...(waitSource === undefined
      ? [{ setting: 'waitForLimits', value: 'none', from: `default of -p; ${written} ${from}` }]
      : []),
  ]
}

function unrestrictedRule(setting: string, value: unknown): { readonly runsAnything?: string } {
  const found = setting === 'permissions.allow' && typeof value === 'string' ? runsAnything(value) : undefined
  return found === undefined ? {} : { runsAnything: found }
}

/** Hides values of variables and headers, which may be secrets. */
function displayValue(setting: string, value: unknown): unknown {
  if (setting.startsWith('env.')) return '(set)'
  if (!/^(?:hooks|mcpServers)\./.test(setting)) return value
  const text = JSON.stringify(value, (name, inner: unknown) =>
    (name === 'headers' || name === 'env') && typeof inner === 'object' && inner !== null
      ? Object.fromEntries(Object.keys(inner).map((header) => [header, '(set)']))
      : inner,
  )
  return JSON.parse(text) as unknown
}

function displayOffer(setting: string, text: string): string {
  if (setting === 'aiSdk' || setting === 'sessionStore') return '(set)'
  if (setting === 'mcpServers') return text.replace(/ \{".*$/s, ' {…}')
  if (setting === 'hooks') return text.replace(/"headers":\{.*$/s, '"headers":(set)')
  return setting === 'env' ? text.replace(/=.*$/s, '=(set)') : text
}

function reportText(
  { files, settings, ignored, trust, warnings, confinement, editConfinement, trials }: Report,
  style: Style,
): string {
  const line = (text: string): string => oneLine(text, Infinity)
  const value = (given: unknown): string => line(typeof given === 'string' ? given : JSON.stringify(given))
  const part = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : [style.bold(title), ...lines.map((text) => `  ${text}`), '']
  return [
    ...(files.length === 0 ? ['No settings files. Flags and environment variables apply.', ''] : []),
    ...part(
      'Files (highest priority first)',
      tableLines(
        files.map(({ level, name }) => [level, line(name)]),
        { columns: [{ min: 7 }, {}], indent: 0 },
      ),
    ),
    ...part(
      'Effective settings',
      settings.flatMap(({ setting, value: given, from, runsAnything: free }) => [
        `${line(setting)} = ${value(given)}  ${style.dim(line(from))}`,
        ...(free === undefined ? [] : [`  ${style.yellow(line(free))}`]),
      ]),
    ),
    ...part(
      'Ignored',
      ignored.map(({ setting, text, from, why }) => `${setting}: ${line(text)}  ${style.dim(`${line(from)}: ${why}`)}`),
    ),
    ...part(
      'Trust',
      trust === null ? [] : [`${line(trust.folder)} is ${trust.trusted ? '' : 'not '}trusted: ${line(trust.because)}`],
    ),
    ...part(
      'Notes',
      warnings.map((warning) => line(warning)),
    ),
    ...part(
      'Confinement',
      [...new Set([confinement, editConfinement, ...(trials === undefined ? [] : [trials])])].map((text) => line(text)),
    ),
  ].join('\n')
}
