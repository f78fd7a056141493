import { existsSync, readFileSync } from 'node:fs'

/** What is missing to confine commands to the workspace. */
export type EditLack = 'bubblewrap' | 'namespaces' | 'proc' | 'home'

/** What a person can do about it, in a sentence. `read` gives what a file of `/proc/sys` says, or undefined. */
export function editRemedy(lack: EditLack, read: (file: string) => string | undefined = readTrimmed): string {
  switch (lack) {
    case 'bubblewrap':
      return 'Install bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap).'
    case 'namespaces':
      return namespacesRemedy(read)
    case 'proc':
      return 'This container masks /proc. Start it with --security-opt systempaths=unconfined (Docker, Podman) or procMount: Unmasked (Kubernetes).'
    case 'home':
      return 'Start halting in a folder below your home folder.'
  }
}

function namespacesRemedy(read: (file: string) => string | undefined): string {
  if (read('/proc/sys/user/max_user_namespaces') === '0')
    return 'Allow user namespaces: sudo sysctl user.max_user_namespaces=15000.'
  if (read('/proc/sys/kernel/unprivileged_userns_clone') === '0')
    return 'Allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1.'
  if (read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1')
    return 'AppArmor restricts user namespaces (Ubuntu 24.04). Give bwrap a profile that allows userns in /etc/apparmor.d, or run: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0.'
  return 'Allow user namespaces. In a container, start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined (Docker), or in a pod of its own user namespace (Kubernetes: hostUsers: false).'
}

function readTrimmed(file: string): string | undefined {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
  } catch {
    return undefined
  }
}
