import { join, resolve } from 'node:path'

/** A folder of the person's own settings: where the variable says, unless it is empty, else below their home. */
export function configFolder(
  name: 'halting' | 'claude',
  {
    cwd,
    home,
    env,
  }: { readonly cwd: string; readonly home: string; readonly env: Readonly<Record<string, string | undefined>> },
): string {
  return resolve(cwd, env[`${name.toUpperCase()}_CONFIG_DIR`] || join(home, `.${name}`))
}
