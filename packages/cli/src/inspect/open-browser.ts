import { spawn } from 'node:child_process'

/** What opens an address in the person's browser. */
function openerFor(platform: NodeJS.Platform): readonly [command: string, ...args: string[]] {
  if (platform === 'darwin') return ['open']
  // What stands first in quotes is a title.
  return platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
}

/** Opens the address in a browser. Rejects where that cannot be begun; what becomes of it is for the person to see. */
export function openBrowser(url: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const [command, ...args] = openerFor(process.platform)
  return new Promise((resolve, reject) => {
    const opener = spawn(command, [...args, url], { env, detached: true, stdio: 'ignore' })
    opener.once('error', reject)
    opener.once('spawn', resolve)
    // The browser stays when the program leaves.
    opener.unref()
  })
}
