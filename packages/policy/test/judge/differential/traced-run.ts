import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inBubblewrap, type World } from '../world.ts'
import { readTrace, traceMark, type TracedCommands } from './trace.ts'

/** What bash did with a line. */
export interface TracedRun {
  readonly commands: TracedCommands
  /** Names of marks that another program than bash started. */
  readonly started: readonly string[]
  /** New files directly in the project folder. */
  readonly written: readonly string[]
  /** Missing files that a redirect tried to read. */
  readonly missed: readonly string[]
  /** It did not end, or ended the shell that runs all lines. */
  readonly isLost?: true
}

/** One digit: dash writes to no other descriptor. */
const descriptor = 9

/** Programs that start other programs. All others do nothing. */
const realPrograms = 'bash env timeout nice nohup stdbuf xargs find'

/** The most frequent programs are functions, so that bash starts no process for them. */
const emptied =
  'ls cat head tail wc grep sort git sed awk rm cp mv touch tee sleep kill id tr cut uniq du df stat npm node date rg jq'

/** A shell that traces what it runs, in which programs do nothing and succeed. A `-x` in the line does not affect this. */
const preparation = `
set +x
command_not_found_handle() { ((1)); }
for name in ${emptied} mark{1..60}; do eval "$name() { ((1)); }"; done
unset name
BASH_XTRACEFD=${descriptor}
PS4='${traceMark} '
FUNCNEST=30
ulimit -t 1 -f 2000
set -x
`

/** Runs lines one after another, each in its own shell, and reports what bash ran for each. */
export async function runTraced(world: World, lines: readonly string[]): Promise<readonly TracedRun[]> {
  const found: TracedRun[] = []
  while (found.length < lines.length) {
    found.push(...(await runUntilLost(world, lines.slice(found.length))))
    if (found.length < lines.length) found.push({ commands: [], started: [], written: [], missed: [], isLost: true })
  }
  return found
}

/** A separate user, so that root has no rights on this machine. */
const withoutRights = ['--unshare-user-try', '--cap-drop', 'ALL']

/** Runs the first lines, up to one that ends the shell which runs them. */
async function runUntilLost(world: World, lines: readonly string[]): Promise<readonly TracedRun[]> {
  const side = realpathSync(mkdtempSync(join(tmpdir(), 'halting-traced-')))
  try {
    for (const folder of ['out', 'copy', 'tools']) mkdirSync(join(side, folder))
    writeFileSync(join(side, 'lines'), lines.map((line) => `${line}\0`).join(''))
    writeFileSync(join(side, 'preparation'), preparation)
    await inBubblewrap(world, side, {
      script: driver(world, side),
      env: {},
      options: withoutRights,
      maxMs: 120_000 + lines.length * 100,
    })
    const read = (name: string): string => readFileSync(join(side, 'out', name), 'latin1')
    const isDone = existsSync(join(side, 'out', 'done'))
    const ended = isDone ? lines.length : Number(read('at').split(' ')[0])
    const lost = new Set(isDone ? read('lost').split('\n') : [])
    return lines.slice(0, ended).map((_, at) => ({
      ...runOf(read(`${at}.trace`), read(`${at}.errors`)),
      ...(lost.has(String(at)) && { isLost: true as const }),
    }))
  } finally {
    rmSync(side, { recursive: true, force: true })
  }
}

/** Marks lines of a trace that bash did not write. */
const noteMark = '\u0002'
const started = new RegExp(`${noteMark} started ([^\\0]*)\\0`, 'g')
const made = new RegExp(`${noteMark} made ([^\\0]*)\\0`, 'g')

function runOf(trace: string, errors: string): TracedRun {
  const names = (pattern: RegExp): readonly string[] => [...trace.matchAll(pattern)].map(([, name = '']) => name)
  return {
    commands: readTrace(trace.replaceAll(started, '').replaceAll(made, '')),
    started: names(started),
    written: names(made),
    missed: [...errors.matchAll(/: line \d+: (r\d+): No such file/g)].map(([, name = '']) => name),
  }
}

/** Runs all lines. A line that takes five seconds is killed. The copy of the world is restored after each line that changed the project folder. */
function driver({ root, project }: World, side: string): string {
  const out = join(side, 'out')
  return `
    fill() { cd /; /usr/bin/find ${root} -mindepth 1 -delete; /bin/cp -a ${side}/template/. ${root}; cd ${project}; }
    watch() {
      while /bin/sleep 0.5; do
        read -r now < ${out}/at
        if [[ $now != "$last" ]]; then count=0 last=$now
        elif ((++count == 10)); then echo "\${now% *}" >> ${out}/lost; kill -9 "\${now#* }"; fi
      done
    }
    fill
    for name in ${realPrograms}; do ln -s "$(type -P $name)" ${side}/tools; done
    printf '#!/bin/sh\\nprintf "\\\\002 started %%s\\\\0" "\${0##*/}" >&${descriptor}\\n' > ${side}/tools/mark1
    chmod +x ${side}/tools/mark1
    for ((n = 2; n <= 60; n++)); do ln -s mark1 ${side}/tools/mark$n; done
    mapfile -d '' -t lines < ${side}/lines
    shopt -s dotglob nullglob
    before=(*); export PATH=${side}/tools
    unset -v PAGER EDITOR VISUAL LESSOPEN
    exec 2> /dev/null
    echo 0 0 > ${out}/at; : > ${out}/lost; watch &
    for i in "\${!lines[@]}"; do
      BASH_ENV=${side}/preparation /bin/bash -c "\${lines[i]}" ${descriptor}>> ${out}/$i.trace > /dev/null 2> ${out}/$i.errors < /dev/null &
      echo $i $! > ${out}/at
      wait $!
      now=(*)
      [[ "\${now[*]}" == "\${before[*]}" ]] && continue
      for name in "\${now[@]}"; do
        [[ " \${before[*]} " == *" $name "* ]] || printf '\\002 made %s\\0' "$name" >> ${out}/$i.trace
      done
      fill
    done
    echo > ${out}/done`
}
