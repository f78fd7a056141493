import { isJsonObject } from '@halting/core/adapters'
import type { CheckedFile, SettingsText } from './check-file.ts'
import type { Fields } from './fields.ts'
import type { Ignored } from './loaded-settings.ts'

interface Checked<File> {
  readonly file: File
  readonly result: CheckedFile
}

/** A setting that reserves something for the administrator, and what is ignored in other files then. */
interface Lock {
  readonly name: string
  readonly what: string
  isSet(fields: Fields): boolean | undefined
  /** The part that is ignored in a file, in the form in which it is reported; no texts if the file has no such part. */
  removed(fields: Fields): { readonly setting: string; readonly texts: readonly string[] }
  without(fields: Fields): Fields
  /** The fields without the setting itself, which has no effect in other files. */
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

/** A lock in a group of `sandbox`, for a list in the same group. */
function sandboxLock(group: 'network' | 'filesystem', name: string, list: string, what: string): Lock {
  const groupOf = ({ sandbox }: Fields): Readonly<Record<string, unknown>> => {
    const settings = sandbox?.[group]
    return isJsonObject(settings) ? settings : {}
  }
  const withoutKey = (fields: Fields, key: string): Fields => {
    const { sandbox } = fields
    const settings = sandbox?.[group]
    if (sandbox === undefined || !isJsonObject(settings)) return fields
    const { [key]: _, ...others } = settings
    return { ...fields, sandbox: { ...sandbox, [group]: others } }
  }
  return {
    name: `sandbox.${group}.${name}`,
    what,
    // This cast is safe: the schema has checked both values.
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
 * Removes what an administrator reserves: hooks, allow rules, and domains and paths that the sandbox opens. Restrictions in other files remain, as
 * they let nothing run. In other files these settings have no effect.
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

/** One line for any number of files, because the line is printed in every run. */
function lockWarning(what: string, by: string, files: number, warnings: string[]): void {
  if (files === 0) return
  const origin = files === 1 ? 'another file' : `${files} other files`
  warnings.push(
    `${what} in ${origin} are ignored because ${by} allows only those of an administrator. halting config lists them.`,
  )
}
