import { isJsonObject } from '@halting/core/adapters'
import type { CheckedFile, SettingsText } from './check-file.ts'
import type { Fields } from './fields.ts'
import type { Ignored } from './loaded-settings.ts'

interface Checked<File> {
  readonly file: File
  readonly result: CheckedFile
}

/** A setting by which an administrator alone says something, and what of other files does not count then. */
interface Lock {
  readonly name: string
  readonly what: string
  isSet(fields: Fields): boolean | undefined
  /** What of a file does not count, as it is told; none where it has nothing of that. */
  removed(fields: Fields): { readonly setting: string; readonly texts: readonly string[] }
  without(fields: Fields): Fields
  /** Without the setting itself, which says nothing in any other file. */
  unlocked(fields: Fields): Fields
}

const locks: readonly Lock[] = [
  {
    name: 'allowManagedHooksOnly',
    what: 'hooks',
    isSet: (fields) => fields.allowManagedHooksOnly,
    removed({ hooks = {} }) {
      const events = Object.keys(hooks)
      return { setting: 'hooks', texts: events.length === 0 ? [] : [events.join(', ')] }
    },
    without: ({ hooks: _, ...others }) => others,
    unlocked: ({ allowManagedHooksOnly: _, ...others }) => others,
  },
  {
    name: 'allowManagedHooksOnly',
    what: 'status lines',
    isSet: (fields) => fields.allowManagedHooksOnly,
    removed: ({ statusLine }) => ({
      setting: 'statusLine',
      texts: statusLine === undefined ? [] : [statusLine.command],
    }),
    without: ({ statusLine: _, ...others }) => others,
    unlocked: ({ allowManagedHooksOnly: _, ...others }) => others,
  },
  {
    name: 'allowManagedPermissionRulesOnly',
    what: 'allow rules',
    isSet: (fields) => fields.allowManagedPermissionRulesOnly,
    removed: ({ allow = [] }) => ({ setting: 'permissions.allow', texts: allow }),
    without: ({ allow: _, ...others }) => others,
    unlocked: ({ allowManagedPermissionRulesOnly: _, ...others }) => others,
  },
  {
    name: 'allowManagedProvidersOnly',
    what: 'AI SDK providers',
    isSet: (fields) => fields.allowManagedProvidersOnly,
    removed: ({ aiSdk }) => ({
      setting: 'aiSdk',
      texts:
        aiSdk === undefined
          ? []
          : [[...Object.keys(aiSdk.models ?? {}), ...Object.keys(aiSdk.packages ?? {})].join(', ')],
    }),
    without: ({ aiSdk: _, ...others }) => others,
    unlocked: ({ allowManagedProvidersOnly: _, ...others }) => others,
  },
  sandboxLock('network', 'allowManagedDomainsOnly', 'allowedDomains', 'sandbox domains'),
  sandboxLock('filesystem', 'allowManagedReadPathsOnly', 'allowRead', 'sandbox read paths'),
]

/** One in a group of `sandbox`, about a list that stands beside it. */
function sandboxLock(group: 'network' | 'filesystem', name: string, list: string, what: string): Lock {
  const groupOf = ({ sandbox }: Fields): Readonly<Record<string, unknown>> => {
    const held = sandbox?.[group]
    return isJsonObject(held) ? held : {}
  }
  const withoutKey = (fields: Fields, key: string): Fields => {
    const { sandbox } = fields
    const held = sandbox?.[group]
    if (sandbox === undefined || !isJsonObject(held)) return fields
    const { [key]: _, ...others } = held
    return { ...fields, sandbox: { ...sandbox, [group]: others } }
  }
  return {
    name: `sandbox.${group}.${name}`,
    what,
    // The schema has looked at both.
    isSet: (fields) => groupOf(fields)[name] as boolean | undefined,
    removed: (fields) => ({
      setting: `sandbox.${group}.${list}`,
      texts: (groupOf(fields)[list] ?? []) as readonly string[],
    }),
    without: (fields) => withoutKey(fields, list),
    unlocked: (fields) => withoutKey(fields, name),
  }
}

/**
 * Takes away what an administrator keeps for their own files: hooks, allow rules, domains and paths that the sandbox opens.
 * What forbids in other files stays: it lets nothing run. In any other file these settings say nothing.
 */
export function applyManagedLocks<File extends SettingsText>(
  checked: readonly Checked<File>[],
  ignored: Ignored[] = [],
  warnings: string[] = [],
): readonly Checked<File>[] {
  const isManaged = ({ file }: Checked<File>): boolean => file.level === 'managed'
  const closed = locks.flatMap((lock) => {
    const by = checked.find((one) => isManaged(one) && lock.isSet(one.result.fields) === true)?.file.name
    return by === undefined ? [] : [{ lock, by }]
  })
  for (const { lock, by } of closed) {
    const files = checked.filter((one) => !isManaged(one) && lock.removed(one.result.fields).texts.length > 0).length
    lockWarning(lock.what, by, files, warnings)
  }
  return checked.map((one) => {
    if (isManaged(one)) return one
    const { file, result } = one
    let { fields } = result
    for (const lock of locks) {
      if (lock.isSet(fields) === undefined) continue
      warnings.push(`${lock.name} in ${file.name} is ignored: only an administrator can set it.`)
      fields = lock.unlocked(fields)
    }
    for (const { lock, by } of closed) {
      const { setting, texts } = lock.removed(fields)
      for (const text of texts)
        ignored.push({ setting, text, from: file.name, why: `${lock.name} in ${by}`, forTrust: false })
      fields = lock.without(fields)
    }
    return { file, result: { ...result, fields } }
  })
}

/** One line, however many files it concerns: it is told at every run. */
function lockWarning(what: string, by: string, files: number, warnings: string[]): void {
  if (files === 0) return
  const whose = files === 1 ? 'another file' : `${files} other files`
  warnings.push(
    `${what} in ${whose} are ignored because ${by} allows only those of an administrator. halting config lists them.`,
  )
}
