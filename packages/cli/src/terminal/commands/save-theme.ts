import { changeSettingsFile, ownSettingsFile, settingsTextWith } from '@halting/policy/settings'
import { homeFolder } from '@halting/policy/files'
import type { Program } from '../../program.ts'
import type { ThemeName } from '../theme.ts'

// Loaded when somebody chooses a theme.

/** Saves the theme in the user settings and returns the path of the file. @throws ConfigurationError if the file cannot be changed. */
export async function saveTheme(theme: ThemeName, program: Program): Promise<string> {
  const path = ownSettingsFile({ ...program, home: homeFolder(program.env) })
  await changeSettingsFile(path, (text) => settingsTextWith(text, [{ path: ['theme'], value: theme }]))
  return path
}
