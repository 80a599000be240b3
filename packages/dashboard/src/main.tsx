import './app/app.css';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { readBootstrap } from './app/bootstrap.ts';
import { loadScreen } from './app/router.tsx';
import { startTheme } from './app/theme.ts';
import { StartFailure } from './app/start-failure.tsx';

startTheme();
const asked = readBootstrap();
// The code of the screen is on its way meanwhile; a browser asks for few files of a host at once, so it comes second.
loadScreen(location.pathname);
const root = createRoot(document.getElementById('root') as HTMLElement);
asked.then(
  (bootstrap) => root.render(<App bootstrap={bootstrap} />),
  (error: unknown) => root.render(<StartFailure error={error} />),
);
