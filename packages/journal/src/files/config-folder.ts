import { userInfo } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { ConfigurationError } from '@halting/core'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns a user settings folder: from its variable if set, otherwise in the home folder. */
export function configFolder(
  name: 'halting' | 'claude',
  {
    cwd,
    home,
    env,
  }: {
    /** Working directory, to resolve a relative path in the variable. */
    readonly cwd: string
    /** Home folder of the user. */
    readonly home: string
    /** The environment. */
    readonly env: Environment
  },
): string {
  const chosen = env[`${name.toUpperCase()}_CONFIG_DIR`]
  return chosen ? resolve(cwd, chosen) : resolve(cwd, home, `.${name}`)
}

/**
 * Returns the home folder of the user. An empty or relative HOME is ignored: files of the project would count as the
 * user's own.
 * @throws ConfigurationError if there is no home folder.
 */
export function homeFolder(env: Environment = process.env): string {
  for (const find of [() => env['HOME'], () => userInfo().homedir]) {
    const home = valueOrEmpty(find)
    if (isAbsolute(home)) return home
  }
  throw new ConfigurationError(
    'No home folder is known: the system names none for this user. Set HOME to a folder of your own.',
  )
}

/** The system throws for an unknown user, as in a container. */
function valueOrEmpty(find: () => string | undefined): string {
  try {
    return find() ?? ''
  } catch {
    return ''
  }
}
