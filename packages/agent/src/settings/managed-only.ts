import type { CheckedFile, Fields, SettingsText } from './check-file.ts'
import type { Ignored } from './loaded-settings.ts'
import { managedOnly } from './merge.ts'

interface Checked<File> {
  readonly file: File
  readonly result: CheckedFile
}

/**
 * Takes away what an administrator keeps for their own files: hooks, and allow rules. Deny and ask rules of other files
 * stay: they let nothing run. In any other file these settings say nothing.
 */
export function withoutOthers<File extends SettingsText>(
  checked: readonly Checked<File>[],
  ignored: Ignored[] = [],
  warnings: string[] = [],
): readonly Checked<File>[] {
  const [hooksBy, rulesBy] = managedOnly.map(
    (name) => checked.find(({ file, result }) => file.level === 'managed' && result.fields[name] === true)?.file.name,
  )
  const others = checked.filter(({ file }) => file.level !== 'managed').map(({ result }) => result.fields)
  tell('hooks', hooksBy, others.filter(({ hooks }) => Object.keys(hooks ?? {}).length > 0).length, warnings)
  tell('allow rules', rulesBy, others.filter(({ allow = [] }) => allow.length > 0).length, warnings)
  return checked.map(({ file, result }) => {
    if (file.level === 'managed') return { file, result }
    const { allowManagedHooksOnly: _, allowManagedPermissionRulesOnly: __, ...fields } = result.fields
    for (const name of managedOnly)
      if (result.fields[name] !== undefined)
        warnings.push(`${name} in ${file.name} does not count: it is an administrator's.`)
    const { allow = [], hooks = {} } = fields
    const events = Object.keys(hooks)
    if (hooksBy !== undefined && events.length > 0) {
      const why = `allowManagedHooksOnly in ${hooksBy}`
      ignored.push({ setting: 'hooks', text: events.join(', '), from: file.name, why, forTrust: false })
    }
    if (rulesBy !== undefined && allow.length > 0) {
      const why = `allowManagedPermissionRulesOnly in ${rulesBy}`
      for (const text of allow)
        ignored.push({ setting: 'permissions.allow', text, from: file.name, why, forTrust: false })
    }
    return { file, result: { ...result, fields: kept(fields, hooksBy !== undefined, rulesBy !== undefined) } }
  })
}

function kept({ hooks, allow, ...others }: Fields, withoutHooks: boolean, withoutAllow: boolean): Fields {
  return { ...others, ...(hooks && !withoutHooks && { hooks }), ...(allow && !withoutAllow && { allow }) }
}

/** One line, however many files it concerns: it is told at every run. */
function tell(what: string, by: string | undefined, files: number, warnings: string[]): void {
  if (by === undefined || files === 0) return
  const whose = files === 1 ? 'another file' : `${files} other files`
  warnings.push(`${what} of ${whose} do not count: ${by} lets in an administrator's alone; halting config tells them.`)
}
