import { readdirSync, readFileSync } from 'node:fs'

/** A command that does harm if nobody judges it. */
export interface HostileRow {
  readonly group: string
  readonly command: string
  /** How the harm shows: a canary is printed, an unnamed program ran, or files with matching paths changed. */
  readonly harm: 'leak' | 'ran' | RegExp
  /** A script that prepares the attack, run by the attacker. */
  readonly setup: string
  /** Deny rules under which the command does harm and is judged. */
  readonly deny: readonly string[]
  /** Allow rules that a person would have in addition. */
  readonly allow: readonly string[]
  /** Whether a rule that names the command lets it run with the settings of the repository: it is judged without such rules. */
  readonly isByRule: boolean
  /** Whether it does no harm in acceptEdits, which allows its changes. */
  readonly isEdit: boolean
  /** Programs that it needs. */
  readonly needs: readonly string[]
}

/**
 * Reads the files of this folder with this name prefix. `== name | key=value | …` begins a group, `setup: …` lines follow, then each line is a command.
 * In a command `⏎` is a line end, and the text after ` ## ` a comment.
 */
export function readCorpus(prefix: string): readonly HostileRow[] {
  const names = readdirSync(new URL('./', import.meta.url)).filter(
    (name) => name.startsWith(prefix) && name.endsWith('.txt'),
  )
  return names.toSorted().flatMap((name) => rowsOf(readFileSync(new URL(name, import.meta.url), 'utf8')))
}

function rowsOf(text: string): readonly HostileRow[] {
  const rows: HostileRow[] = []
  let keys = new Map<string, string>()
  let [group, setup] = ['', '']
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('//')) continue
    if (line.startsWith('== ')) {
      const [name = '', ...pairs] = line.slice(3).split(' | ')
      group = name.trim()
      keys = new Map(
        pairs.map((pair) => {
          const [, key = '', value = ''] = /^(\w+)(?:=(.*))?$/s.exec(pair.trim()) ?? []
          return [key, value]
        }),
      )
      setup = ''
    } else if (line.startsWith('setup: ')) setup += `${line.slice(7)}\n`
    else {
      const list = (key: string): readonly string[] => (keys.get(key) ?? '').split(';').filter(Boolean)
      const harm = keys.get('harm') ?? ''
      const command = (line.split(' ## ', 1)[0] ?? '').replaceAll('⏎', '\n')
      rows.push({
        group,
        command,
        harm: harm === 'leak' || harm === 'ran' ? harm : new RegExp(harm),
        setup,
        deny: list('deny'),
        allow: list('allow'),
        isByRule: keys.has('byrule'),
        isEdit: keys.has('edit'),
        needs: [...list('needs'), ...programsIn(command)],
      })
    }
  }
  return rows
}

/** Not available everywhere: without one of these the row is skipped by name. */
const rare: ReadonlySet<string> = new Set(
  'rg gawk tree jq file xxd tar zip unzip curl wget make gcc perl python3 ruby ed vim ex less script setpriv prlimit flock sqlite3 gdb strace openssl bc bwrap tclsh gpg npm npx node tmux watch patch rsync socat busybox setarch unshare nsenter runuser column look shuf ionice chrt taskset lsof pr ptx man strings rustup'.split(
    ' ',
  ),
)

function programsIn(command: string): readonly string[] {
  return [...new Set(command.match(/(?<![\w./-])[a-z][a-z0-9]*(?![\w./-])/g) ?? [])].filter((word) => rare.has(word))
}
