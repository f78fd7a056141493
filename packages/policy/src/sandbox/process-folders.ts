import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { namesIn } from './on-disk.ts'

/** The prefix of the name of a folder that this process creates. Process ids are per namespace, and containers may share a temporary folder. */
export function processFolderName(kind: string): string {
  return `${namespacePrefix(kind)}${process.pid}-`
}

/** Folders of that kind whose processes ended without removing them. */
export function abandonedFolders(parent: string, kind: string): readonly string[] {
  const ours = namespacePrefix(kind)
  return namesIn(parent).flatMap((name) => {
    const [, pid] = name.startsWith(ours) ? (/^(\d+)-/.exec(name.slice(ours.length)) ?? []) : []
    return pid === undefined || isAlive(Number(pid)) ? [] : [join(parent, name)]
  })
}

function namespacePrefix(kind: string): string {
  const [namespace = '0'] = /\d+/.exec(readlinkSync('/proc/self/ns/pid')) ?? []
  return `halting-${kind}-${namespace}-`
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    // The process belongs to another user.
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}
