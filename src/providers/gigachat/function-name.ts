/**
 * Names of tools as GigaChat takes them, and back. Pure; the same name is always written the same way, so that a request keeps
 * its bytes from turn to turn.
 *
 * GigaChat answers 422 to a name that does not begin with a letter, and takes a tool that is called like one of its built-in
 * functions for that function. Such names get a prefix; a name that has the prefix already gets it once more, so that every
 * name has one way back.
 */
import { wireToolName } from '../tool-definition.ts'

const PREFIX = 'fn_'

/** Built-in functions that the vendor's documents name. */
const BUILT_IN: ReadonlySet<string> = new Set(['web_search', 'text2image', 'text2model3d', 'get_file_content'])

/** @param tool the name of a tool, or whatever a model called instead of one */
export function functionName(tool: string): string {
  const name = wireToolName(tool)
  const needed = BUILT_IN.has(name) || !/^[a-zA-Z]/.test(name) || name.startsWith(PREFIX)
  return needed ? PREFIX + name : name
}

/** The tool that a model means. A name that nobody declared comes back as it is. */
export function toolNamed(name: string): string {
  return name.startsWith(PREFIX) && name.length > PREFIX.length ? name.slice(PREFIX.length) : name
}
