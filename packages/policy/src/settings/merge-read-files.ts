import { folderTrust, type FolderTrust } from '../trust/folder-trust.ts'
import { trustedFields, offersOf, ownOnly, type Offer } from '../trust/offers.ts'
import { type CheckedFile, checkFile, type Nearest, type SettingsText } from './check-file.ts'
import type { Fields } from './fields.ts'
import {
  type FoundFile,
  type Ignored,
  type LoadedSettings,
  type LoadOptions,
  SettingsError,
} from './loaded-settings.ts'
import { mergeLimits } from './limits.ts'
import { applyManagedLocks } from './managed-only.ts'
import type { EffectiveFile } from './effective-file.ts'
import { listedFields, mergeFiles } from './merge.ts'
import type { ReadFile } from './read-files.ts'

/** Merges the files that were read, the highest precedence first. @throws SettingsError */
export async function mergeReadFiles(files: readonly ReadFile[], options: LoadOptions): Promise<LoadedSettings> {
  const warnings: string[] = []
  const ignored: Ignored[] = []
  const checked = applyManagedLocks(checkedFiles(files, options.nearest), ignored, warnings)
  const trust = await trustOf(checked, options)
  // Personal settings decide whether the sandbox is on; the value of the project is ignored.
  const isSandboxed = checked.some(
    ({ file, result }) => !isOfProject(file) && result.fields.sandbox?.['enabled'] === true,
  )
  const letsServer = serversOfPerson(checked)
  const effective = checked.map(({ file, result }) => {
    if (file.problem !== undefined) warnings.push(file.problem)
    warnings.push(...result.warnings)
    const fields = isOfProject(file)
      ? projectFields(file, result, { trust, isSandboxed, letsServer }, ignored, warnings)
      : result.fields
    addProblems(file, result, trust, warnings)
    return { file, result, fields }
  })
  if (trust?.problem !== undefined) warnings.push(trust.problem)
  const limits = mergeLimits(effective, options.defaultLimits)
  const others = mergeFiles(effective, warnings)
  const settings = { ...others.settings, ...limits.settings }
  const origins = [...others.origins, ...limits.origins]
  ignored.push(...limits.ignored)
  warnings.push(...limits.warnings)
  const off = origins.find(({ setting, value }) => setting === 'disableAllHooks' && value === true)
  for (const { file, fields } of off === undefined ? [] : effective) {
    if (file.level === 'managed') continue
    const { hooks, statusLine } = fields
    const reported = { from: file.name, why: `disableAllHooks in ${off?.from}`, forTrust: false }
    if (hooks !== undefined) ignored.push({ setting: 'hooks', text: Object.keys(hooks).join(', '), ...reported })
    if (statusLine !== undefined) ignored.push({ setting: 'statusLine', text: statusLine.command, ...reported })
  }
  return {
    settings,
    warnings,
    files: effective.map(foundFile),
    origins,
    ignored,
    ...(trust !== undefined && { trust }),
  }
}

interface Checked {
  readonly file: ReadFile
  readonly result: CheckedFile
}

function checkedFiles(files: readonly ReadFile[], nearest?: Nearest): readonly Checked[] {
  return files.map((file) => ({ file, result: checkFile(file, nearest) }))
}

/** What project files would run or loosen. */
export function offersIn(files: readonly ReadFile[]): readonly Offer[] {
  return unique(
    applyManagedLocks(checkedFiles(files))
      .filter(({ file }) => isOfProject(file))
      .flatMap(({ file, result }) => offersOf(result.fields, file.projectDirectory)),
  )
}

function unique(offers: readonly Offer[]): readonly Offer[] {
  return [...new Map(offers.map((offer) => [offer.id, offer])).values()]
}

/** Whether the folder is trusted. The trust record is read only if the result depends on it. */
async function trustOf(checked: readonly Checked[], options: LoadOptions): Promise<FolderTrust | undefined> {
  const isNeeded = checked.some(
    ({ file, result }) =>
      isOfProject(file) && (offersOf(result.fields, file.projectDirectory).length > 0 || result.problems.length > 0),
  )
  return isNeeded ? folderTrust({ ...options, once: options.trustedBy }) : undefined
}

function isOfProject({ level }: Pick<SettingsText, 'level'>): boolean {
  return level === 'project' || level === 'local'
}

interface ProjectTrust {
  readonly trust: FolderTrust | undefined
  readonly isSandboxed: boolean
  readonly letsServer: (name: string) => boolean
}

/** Servers of a project's `.mcp.json` that personal settings enable if the folder is trusted. */
function serversOfPerson(checked: readonly Checked[]): (name: string) => boolean {
  const own = checked.filter(({ file }) => !isOfProject(file)).map(({ result }) => result.fields)
  return (name) =>
    own.some(
      ({ enableAllProjectMcpServers: all, enabledMcpjsonServers: some }) =>
        all === true || some?.includes(name) === true,
    )
}

/** The effective fields of a project's file; the others are recorded as ignored. */
function projectFields(
  file: ReadFile,
  { fields }: CheckedFile,
  { trust, isSandboxed, letsServer: letsOwn }: ProjectTrust,
  ignored: Ignored[],
  warnings: string[],
): Fields {
  const lets = (offer: Offer): boolean => trust?.lets(offer) ?? false
  const letsServer = (name: string): boolean => trust?.trusted === true && letsOwn(name)
  for (const offer of offersOf(fields, file.projectDirectory)) {
    if (lets(offer) || (offer.server !== undefined && letsServer(offer.server))) continue
    const why =
      trust?.trusted === true
        ? runsScripts.has(offer.setting)
          ? 'added or changed (or its script changed) after you trusted the folder'
          : offer.needsNaming
            ? 'it needs to be reviewed with halting trust'
            : 'added after you trusted the folder'
        : 'the folder is not trusted'
    ignored.push({
      setting: offer.setting,
      text: offer.text,
      from: file.name,
      why,
      forTrust: true,
      ...(offer.needsNaming && { onlyByName: true }),
    })
  }
  const never = [
    ...ownOnly,
    ...(fields.redactSecrets === false ? (['redactSecrets'] as const) : []),
    ...(['autoMemoryEnabled', 'autoDreamEnabled'] as const).filter((name) => fields[name] === true),
  ]
  for (const setting of never) {
    const value = fields[setting]
    if (value === undefined) continue
    const why = 'only your own settings and --settings can set it'
    ignored.push({
      setting,
      text: setting === 'sessionStore' ? '(set)' : JSON.stringify(value),
      from: file.name,
      why,
      forTrust: false,
    })
    warnings.push(`${setting} in ${file.name} is ignored: ${why}.`)
  }
  return trustedFields(fields, { lets, isSandboxed, projectDirectory: file.projectDirectory, letsServer })
}

/** Settings with scripts whose content is part of the trust. */
const runsScripts: ReadonlySet<string> = new Set(['hooks', 'apiKeyHelper', 'statusLine'])

/** Fields of a project that apply with and without trust. */
const alwaysOfProjects: ReadonlySet<string> = new Set([
  'file',
  'permissions',
  'permissions.deny',
  'permissions.ask',
  'redactSecrets',
  'autoMemoryEnabled',
  'autoDreamEnabled',
  // A lower limit applies without trust.
  'limits',
  'waitForLimits',
  // Restrictions apply without trust.
  'sandbox',
])

/** Maximum number of lines on stderr about one file. */
const maxReported = 10

function addProblems(
  file: ReadFile,
  { problems }: CheckedFile,
  trust: FolderTrust | undefined,
  warnings: string[],
): void {
  const isBinding = file.level === 'managed' || file.level === 'flag'
  const counts = (field: string): boolean =>
    !isOfProject(file) ||
    alwaysOfProjects.has(field) ||
    (trust?.trusted === true && !ownOnly.some((name) => name === field))
  const effective = problems.filter(({ field }) => counts(field))
  const [first] = effective.filter(({ stops }) => stops || isBinding)
  if (first !== undefined) {
    const others = effective.length - 1
    const more =
      others === 0
        ? ''
        : ` ${others === 1 ? '1 more problem' : `${others} more problems`} in this file: see halting config.`
    const out = isOfProject(file) ? ' To ignore project settings, use --setting-sources user.' : ''
    throw new SettingsError(
      `${first.text}${out}${more}`,
      effective.map(({ text }) => text),
    )
  }
  for (const { text } of effective.slice(0, maxReported)) warnings.push(`${text} Ignored.`)
  if (effective.length > maxReported)
    warnings.push(`${file.name}: ${effective.length - maxReported} more invalid values are ignored.`)
}

function foundFile({ file, fields }: EffectiveFile): FoundFile {
  const { level, name, content } = file
  const { others: _, ...values } = fields
  const known = new Set<string>(Object.keys(values))
  const isThere = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined)
  const permissions = [...listedFields, 'defaultMode', 'disableBypassPermissionsMode'] as const
  const counts = (key: string): boolean =>
    key === 'permissions' ? permissions.some((one) => isThere(fields[one])) : known.has(key)
  const keys = Object.keys(content).filter((key) => key !== '$schema')
  return { level, name, served: keys.filter(counts), passedOver: keys.filter((key) => !counts(key)) }
}
