import { userInfo } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { ConfigurationError } from '@halting/core'

type Environment = Readonly<Record<string, string | undefined>>

/** A folder of the person's own settings: where the variable says, unless it is empty, else below their home. */
export function configFolder(
  name: 'halting' | 'claude',
  {
    cwd,
    home,
    env,
  }: {
    /** Working directory, which a relative path in the variable counts from. */
    readonly cwd: string
    /** The person's own folder. */
    readonly home: string
    /** The environment. */
    readonly env: Environment
  },
): string {
  const chosen = env[`${name.toUpperCase()}_CONFIG_DIR`]
  return chosen ? resolve(cwd, chosen) : resolve(cwd, home, `.${name}`)
}

/**
 * The person's own folder. An empty or relative HOME names none: what lies in the project would be taken for the person's own.
 * @throws ConfigurationError when there is none.
 */
export function homeFolder(env: Environment = process.env): string {
  for (const find of [() => env['HOME'], () => userInfo().homedir]) {
    const home = valueOf(find)
    if (isAbsolute(home)) return home
  }
  throw new ConfigurationError(
    'No home folder is known: the system names none for this user. Set HOME to a folder of your own.',
  )
}

/** The system throws for a user whom it does not know, as in a container. */
function valueOf(find: () => string | undefined): string {
  try {
    return find() ?? ''
  } catch {
    return ''
  }
}
