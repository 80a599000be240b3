import { DrawerButton } from '../copilot/drawer-button.tsx';
import type { DrawerState } from '../copilot/use-drawer.ts';
import { useBox } from './box.ts';
import { signOut } from './bootstrap.ts';
import { Installations } from './installations.tsx';
import { OPEN_PALETTE } from './palette/palette.tsx';
import { isOpenTo, SCREENS, toSeat } from './screens.ts';
import type { ScreenGroup } from './screens.ts';
import { ThemeButton } from './theme-button.tsx';
import { Link } from '../ui/link.tsx';

const GROUPS: readonly (readonly [ScreenGroup, string])[] = [
  ['watch', 'Watch'],
  ['work', 'Work'],
  ['manage', 'Manage'],
];

export interface SidebarProps {
  isOpen: boolean;
  onToggle(): void;
  copilot: DrawerState;
  /** The copilot lies above it. */
  isCovered: boolean;
}

export function Sidebar({ isOpen, onToggle, copilot, isCovered }: SidebarProps) {
  const { bootstrap } = useBox();
  const seat = toSeat(bootstrap);
  return (
    <header
      inert={isCovered}
      className="border-line bg-panel md:sticky md:top-0 md:flex md:h-dvh md:w-52 md:shrink-0 md:flex-col md:border-r"
    >
      <div className="flex items-center gap-2 border-b border-line px-4 py-3 md:border-0">
        <Link to="/" className="min-w-0 flex-1 truncate font-semibold no-underline">
          <bdi>{bootstrap.name}</bdi>
        </Link>
        <DrawerButton isOpen={copilot.isOpen} onToggle={copilot.toggle} className="flex md:hidden" />
        <button
          type="button"
          className="rounded border border-line px-2 py-1 md:hidden"
          aria-expanded={isOpen}
          aria-controls="screens"
          onClick={onToggle}
        >
          Menu
        </button>
      </div>
      <div className="px-4 pb-2 max-md:pt-2 empty:hidden">
        <Installations bootstrap={bootstrap} />
      </div>
      <div className={`${isOpen ? 'block' : 'hidden'} px-4 pb-2 md:block`}>
        <button
          type="button"
          className="flex w-full items-center justify-between rounded border border-line px-2 py-1 text-muted hover:bg-raised"
          onClick={() => dispatchEvent(new Event(OPEN_PALETTE))}
        >
          Go to… <kbd className="text-xs">Ctrl K</kbd>
        </button>
      </div>
      <nav
        id="screens"
        aria-label="Screens"
        className={`${isOpen ? 'block' : 'hidden'} flex-1 overflow-y-auto px-2 pb-3 md:block`}
      >
        {GROUPS.map(([group, title]) => {
          const shown = SCREENS.filter((screen) => screen.group === group && isOpenTo(screen, seat));
          if (shown.length === 0) return null;
          return (
            <section key={group} aria-label={title} className="mb-3">
              <h2 className="px-2 py-1 text-xs font-medium text-muted">{title}</h2>
              <ul>
                {shown.map((screen) => (
                  <li key={screen.id}>
                    <Link
                      to={screen.path}
                      activeOptions={{ exact: screen.path === '/', includeSearch: false }}
                      className="block rounded px-2 py-1.5 no-underline hover:bg-raised aria-[current]:bg-accent-soft aria-[current]:font-medium"
                    >
                      {screen.title}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </nav>
      <div className="px-4 pb-2 empty:hidden">
        <DrawerButton isOpen={copilot.isOpen} onToggle={copilot.toggle} className="hidden w-full md:flex" />
      </div>
      <PlaneLinks place={bootstrap.place} isOpen={isOpen} />
      <div
        className={`${isOpen ? 'flex' : 'hidden'} items-center gap-2 border-t border-line px-4 py-2 text-xs text-muted md:flex`}
      >
        <span className="min-w-0 flex-1 truncate">
          <bdi>{bootstrap.caller.name}</bdi> · {bootstrap.caller.role}
        </span>
        {bootstrap.place !== 'dev' && (
          <button
            type="button"
            className="rounded border border-line px-2 py-0.5 hover:bg-raised"
            onClick={() => void signOut(bootstrap)}
          >
            Sign out
          </button>
        )}
        <ThemeButton />
      </div>
    </header>
  );
}

// --- internal ---

/** The pages of the control plane around this one. */
const PAGES = {
  dev: [],
  standalone: [['/', 'Box and tokens']],
  full: [
    ['/', 'Organisation'],
    ['/account', 'Account'],
  ],
} as const satisfies Record<string, readonly (readonly [href: string, title: string])[]>;

function PlaneLinks({ place, isOpen }: { place: keyof typeof PAGES; isOpen: boolean }) {
  if (PAGES[place].length === 0) return null;
  return (
    <nav
      aria-label="Control plane"
      className={`${isOpen ? 'flex' : 'hidden'} gap-4 border-t border-line px-4 py-2 text-xs md:flex`}
    >
      {PAGES[place].map(([href, title]) => (
        <a key={href} href={href} className="text-muted underline hover:text-text">
          {title}
        </a>
      ))}
    </nav>
  );
}
